"""The official Python client, in the mode that MODE names (its own choice without), connects to the command given, uses what it
finds there, and prints what it saw as one JSON object."""

import asyncio
import json
import os
import sys

import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client


def plain(model):
    # A client that never asked knows nothing of the server.
    return model and model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def main():
    seen = {"logs": [], "messages": [], "answers": []}

    async def on_log(params):
        seen["logs"].append([params.level, params.data])

    async def on_message(message):
        seen["messages"].append(type(message).__name__)

    async def on_sampling(context, params):
        return types.CreateMessageResult(
            role="assistant",
            model="a-model",
            stop_reason="endTurn",
            content=types.TextContent(type="text", text="you said " + params.messages[0].content.text),
        )

    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    mode = os.environ.get("MODE")
    async with Client(
        stdio_client(server),
        **({"mode": mode} if mode else {}),
        logging_callback=on_log,
        message_handler=on_message,
        sampling_callback=on_sampling,
    ) as client:
        seen["server"] = plain(client.server_info)
        seen["capabilities"] = plain(client.server_capabilities)
        if mode == "legacy":
            await client.send_ping()
        seen["tools"] = [plain(tool) for tool in (await client.list_tools()).tools]
        seen["resources"] = [str(item.uri) for item in (await client.list_resources()).resources]
        templates = (await client.list_resource_templates()).resource_templates
        seen["templates"] = [item.uri_template for item in templates]
        seen["prompts"] = [item.name for item in (await client.list_prompts()).prompts]
        if mode == "legacy":
            await client.set_logging_level("debug")
        for step in json.loads(os.environ.get("SCRIPT", "[]")):
            updates = []

            async def on_progress(progress, total, message):
                updates.append({"progress": progress, "total": total, "message": message})

            params = step.get("params", {})
            try:
                match step["do"]:
                    case "call":
                        result = await client.call_tool(
                            params["name"],
                            params.get("arguments"),
                            progress_callback=on_progress if step.get("progress") else None,
                        )
                    case "read":
                        result = await client.read_resource(params["uri"])
                    case "prompt":
                        result = await client.get_prompt(params["name"], params.get("arguments"))
                    case "complete":
                        ref = types.PromptReference(type="ref/prompt", name=params["ref"]["name"])
                        result = await client.complete(ref, params["argument"])
                    case "subscribe":
                        result = await client.subscribe_resource(params["uri"])
                    case "tools":
                        result = await client.list_tools()
                seen["answers"].append({"result": plain(result), "progress": updates})
            except Exception as error:
                code = getattr(getattr(error, "error", None), "code", 0)
                seen["answers"].append({"error": {"code": code, "message": str(error)}})
    print(json.dumps(seen))


asyncio.run(main())
