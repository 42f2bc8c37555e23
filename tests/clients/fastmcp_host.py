"""FastMCP's client as a host: the same as host.py with the other client."""

import asyncio
import os
import sys

import mcp_types as types
from fastmcp import Client
from fastmcp.client.messages import MessageHandler
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.client.subscriptions import listen

from steps import Events, Steps, answers

events = Events()


class Heard(MessageHandler):
    async def on_tool_list_changed(self, message):
        events.add("tools")

    async def on_resource_updated(self, message):
        events.add("updated", str(message.params.uri))

    async def on_exception(self, message):
        events.add("errors", repr(message))


async def on_log(params):
    events.logs.append([params.level, params.data])


async def on_sampling(messages, params, context):
    return types.CreateMessageResult.model_validate(answers.sampled(messages[0].content.text))


async def on_elicit(message, response_type, params, context):
    return types.ElicitResult.model_validate(answers.elicited(message))


async def on_roots(context):
    return [types.Root.model_validate(root) for root in answers.roots()["roots"]]


class Adapter:
    """The official client's methods."""

    def __init__(self, client):
        self.client = client
        self.protocol_version = client.protocol_version
        self.server_info = client.server_info
        self.list_tools = client.list_tools_mcp
        self.list_resources = client.list_resources_mcp
        self.list_resource_templates = client.list_resource_templates_mcp
        self.list_prompts = client.list_prompts_mcp
        self.read_resource = client.read_resource_mcp
        self.get_prompt = client.get_prompt_mcp
        self.complete = client.complete_mcp
        self.set_logging_level = client.set_logging_level
        self.subscribe_resource = client.session.subscribe_resource

    async def call_tool(self, name, arguments, progress_callback=None):
        return await self.client.call_tool_mcp(name, arguments or {}, progress_handler=progress_callback)

    def listen(self, **wanted):
        return listen(self.client.session, **wanted)


async def main():
    mode = os.environ.get("MODE")
    command, *args = sys.argv[1:]
    if command.startswith("http://"):
        transport = StreamableHttpTransport(command)
    else:
        transport = StdioTransport(command=command, args=args, env=dict(os.environ), keep_alive=False)
    client = Client(
        transport,
        **({"mode": mode} if mode else {}),
        log_handler=on_log,
        message_handler=Heard() if mode == "legacy" else None,
        sampling_handler=on_sampling,
        elicitation_handler=on_elicit,
        roots=on_roots,
    )
    async with client:
        await Steps(Adapter(client), events).run()


asyncio.run(main())
