"""A tool process written with the published Python SDK as its documentation shows."""

import os
import sys
import time

from protomcp import (
    CompletionResult,
    PromptArg,
    PromptMessage,
    ResourceContent,
    ToolContext,
    ToolResult,
    completion,
    middleware,
    prompt,
    resource,
    resource_template,
    tool,
    tool_manager,
)
from protomcp import runner
from protomcp.runner import run


@tool("Adds two numbers", title="Add", read_only=True, idempotent=True)
def add(a: int, b: int) -> str:
    return str(a + b)


@tool("Gives back its text")
def echo(text: str) -> str:
    return text


@tool("Repeats one letter")
def big(size: int) -> str:
    return "x" * size


@tool("Random letters that do not compress well")
def noise(size: int) -> str:
    import random

    return "".join(random.Random(7).choices("0123456789abcdef", k=size))


@tool("Fails with everything that an error can say")
def fail() -> ToolResult:
    return ToolResult(
        result="No such user",
        is_error=True,
        error_code="NOT_FOUND",
        message="There is no user 7",
        suggestion="List the users first",
        retryable=True,
    )


@tool("Raises")
def throw() -> str:
    raise ValueError("this is what went wrong")


@tool("Reports progress")
def steps(ctx: ToolContext, count: int) -> str:
    for step in range(1, count + 1):
        ctx.report_progress(step, count, f"step {step}")
    # The TypeScript client forgets progress that it reads together with the answer.
    time.sleep(0.05)
    return f"{count} steps"


@tool("Logs on four levels")
def logs() -> str:
    runner.log.debug("a detail")
    runner.log.info("news", data={"number": 1})
    runner.log.warning("careful")
    runner.log.error("broken")
    return "logged"


@tool("Shown at first")
def before() -> str:
    return "before"


@tool("Hidden at first", hidden=True)
def after() -> str:
    return "after"


@tool("Swaps `before` for `after`")
def swap() -> ToolResult:
    return ToolResult(result="swapped", enable_tools=["after"], disable_tools=["before"])


@tool("Asks the tool manager, which reads the next frame of the socket as its answer")
def manage(name: str) -> str:
    return ",".join(sorted(tool_manager.enable([name])))


@tool("Asks the host's model")
def ask(ctx: ToolContext, question: str) -> str:
    answer = ctx.sample([{"role": "user", "content": question}], system_prompt="short", max_tokens=5)
    return answer.get("error") or answer["content"]


@tool("Waits until it is cancelled; creates the file when it begins and when it was cancelled")
def wait(ctx: ToolContext, path: str) -> str:
    open(path + ".begun", "w").close()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if ctx.is_cancelled():
            open(path + ".cancelled", "w").close()
            return "cancelled"
        time.sleep(0.005)
    return "waited"


@tool("Writes on the standard output, where the protocol of other servers lives")
def chatter() -> str:
    print("a stray print", flush=True)
    os.write(1, b"a stray write\n")
    print("a complaint", file=sys.stderr, flush=True)
    return "said"


@tool("Ends the process")
def crash(status: int) -> str:
    print("the last words", file=sys.stderr, flush=True)
    os._exit(status)


@tool("Goes through the middleware")
def guarded(word: str) -> str:
    return word


@middleware("upper", priority=10)
def upper(phase, tool_name, args_json, result_json, is_error):
    if tool_name != "guarded":
        return {}
    if phase == "before":
        if "forbidden" in args_json:
            return {"reject": True, "reject_reason": "that word is forbidden"}
        return {"arguments_json": args_json.replace("quiet", "LOUD")}
    return {"result_json": result_json.replace("LOUD", "VERY LOUD")}


@resource("test://static", "A text", name="static", mime_type="text/plain")
def static(uri: str):
    return ResourceContent(uri=uri, text="static text", mime_type="text/plain")


@resource("test://binary", "Some bytes", name="binary", mime_type="application/octet-stream")
def binary(uri: str):
    return ResourceContent(uri=uri, blob=b"\x00\x01\xfe\xff", mime_type="application/octet-stream")


@resource_template("note://{id}", "One note", name="note", mime_type="text/plain")
def note(uri: str):
    return ResourceContent(uri=uri, text=f"note {uri[7:]}", mime_type="text/plain")


@prompt("Greets", arguments=[PromptArg("name", "Whom", required=True), PromptArg("tone", "How")])
def greet(name: str, tone: str = "warm"):
    return [
        PromptMessage("user", f"Greet {name}, {tone}"),
        PromptMessage("assistant", "Hello!"),
    ]


@completion("ref/prompt", "greet", "tone")
def tones(value: str):
    all_tones = [f"tone{index}" for index in range(150)]
    found = [tone for tone in all_tones if tone.startswith(value)]
    return CompletionResult(values=found, total=len(found), has_more=False)


if __name__ == "__main__":
    run()
