"""What a typed tool file says; no test runs it, type checkers read it."""

import dataclasses
from typing import Any, Dict, List, Optional

from typing_extensions import Annotated

from protomcp import (
    CompletionResult,
    Image,
    InputRequired,
    Param,
    PromptArg,
    PromptMessage,
    ResourceContent,
    ServerLogger,
    StepResult,
    ToolCallEvent,
    ToolContext,
    ToolError,
    ToolResult,
    action,
    completion,
    configure,
    local_middleware,
    log,
    middleware,
    prompt,
    resource,
    resource_template,
    server_context,
    sidecar,
    step,
    telemetry_sink,
    tool,
    tool_group,
    tool_manager,
    workflow,
)
from protomcp.context import ToolContext as Context
from protomcp.runner import run
from protomcp.tool import ToolDef, clear_registry, get_registered_tools

configure(concurrency=4)


@dataclasses.dataclass
class City:
    name: str
    people: int = 0


@tool("Adds two numbers", read_only=True, destructive=False)
def add(a: int, b: Annotated[int, Param("The other", ge=0)] = 1) -> ToolResult:
    return ToolResult(result=str(a + b))


@tool
def city(ctx: ToolContext, name: Optional[str] = None) -> City:
    """Finds a city."""
    if name is None:
        raise ToolError("which?", code="MISSING", suggestion="say it")
    ctx.report_progress(1, 2, "half")
    answer: Dict[str, Any] = ctx.sample("What?", max_tokens=5)
    if ctx.elicit("Sure?", City).accepted:
        ctx.log.info(str(answer), data={"uri": ctx.roots()[0].uri})
    return City(name)


@tool("Waits")
async def wait(ctx: Context) -> List[Image]:
    await ctx.sample_async("What?")
    return [Image(b"")]


@tool("Asks")
def ask(ctx: ToolContext) -> object:
    return InputRequired().elicit("who", "Who?", City).roots("r").state("so far")


sum_of_two: ToolResult = add(1, 2)
replaced: ToolResult = dataclasses.replace(sum_of_two, result="3")
names: List[str] = tool_manager.enable(["add"])
tools: List[ToolDef] = get_registered_tools()
logger: ServerLogger = log


@resource("test://a", "A text")
def text(uri: str) -> ResourceContent:
    return ResourceContent(uri=uri, text="a")


@resource_template("test://{name}", "Texts")
def texts(name: str) -> str:
    return name


@prompt("Greets", arguments=[PromptArg("name", required=True)])
def greet(name: str) -> List[PromptMessage]:
    return [PromptMessage("user", f"Greet {name}")]


@completion("ref/prompt", "greet", "name")
def complete(value: str) -> CompletionResult:
    return CompletionResult([value])


@middleware("audit", priority=1)
def audit(phase: str, tool_name: str, args_json: str, result_json: str, is_error: bool) -> Dict[str, Any]:
    return {}


@local_middleware(priority=1)
def around(ctx: ToolContext, tool_name: str, args: Dict[str, Any], next_handler: Any) -> Any:
    return next_handler(ctx, args)


@server_context("project", expose=False)
def project(args: Dict[str, Any]) -> str:
    return "here"


@telemetry_sink
def sink(event: ToolCallEvent) -> None:
    print(event.tool_name, event.duration_ms)


@sidecar("db", ["db"], health_check="http://localhost:1")
def db() -> None: ...


@tool_group("math", strategy="union")
class Math:
    @action("add", requires=["a"], cross_rules=[(lambda args: False, "no")])
    def add(self, a: int) -> int:
        return a


@workflow("deploy", allow_during=["status"])
class Deploy:
    @step(initial=True, next=["end"], on_error={ValueError: "end"})
    def begin(self) -> StepResult:
        return StepResult("begun", next=["end"])

    @step(terminal=True)
    def end(self) -> str:
        return "done"


if __name__ == "__main__":
    clear_registry()
    run()
