"""The official Python client as a host: connects to the command or URL given, in the mode that MODE names
(its own choice without), carries out the steps of SCRIPT and prints what came of each, one line of
JSON a step. The first line says with whom it speaks."""

import asyncio
import os
import sys

import mcp_types as types
from mcp import Client, StdioServerParameters

from steps import Events, Steps, answers

events = Events()


async def on_log(params):
    events.logs.append([params.level, params.data])


async def on_message(message):
    match message:
        case types.ToolListChangedNotification():
            events.add("tools")
        case types.ResourceUpdatedNotification():
            events.add("updated", str(message.params.uri))
        case Exception():
            events.add("errors", repr(message))


async def on_sampling(context, params):
    said = params.messages[0].content.text
    return types.CreateMessageResult.model_validate(answers.sampled(said))


async def on_elicit(context, params):
    return types.ElicitResult.model_validate(answers.elicited(params.message))


async def on_roots(context):
    return types.ListRootsResult.model_validate(answers.roots())


async def main():
    mode = os.environ.get("MODE")
    # What comes on a stream is told to the handler as well.
    command, *args = sys.argv[1:]
    is_url = command.startswith("http://")
    client = Client(
        command if is_url else StdioServerParameters(command=command, args=args, env=dict(os.environ)),
        **({"mode": mode} if mode else {}),
        logging_callback=on_log,
        log_level="warning",
        message_handler=on_message if mode == "legacy" else None,
        sampling_callback=on_sampling,
        elicitation_callback=on_elicit,
        list_roots_callback=on_roots,
    )
    async with client:
        if mode == "legacy":
            await client.send_ping()
        await Steps(client, events).run()


asyncio.run(main())
