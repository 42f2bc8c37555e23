"""Tools for an AI application, written with the Python SDK: `pmcp dev examples/server.py`."""

from protomcp import ToolContext, ToolResult, tool
from protomcp.runner import run


@tool("Greets someone")
def greet(name: str) -> str:
    return f"Hello, {name}!"


@tool("Counts up to a number and reports every step")
def count(ctx: ToolContext, to: int) -> str:
    for step in range(1, to + 1):
        ctx.report_progress(step, to, f"{step} of {to}")
    return f"Counted to {to}."


@tool("Shows the tool that is hidden")
def unlock() -> ToolResult:
    return ToolResult(result="There is a secret tool now.", enable_tools=["secret"])


@tool("Tells a secret", hidden=True)
def secret() -> str:
    return "The cake is in the kitchen."


# A new tool goes here.


if __name__ == "__main__":
    run()
