"""What both hosts in Python share: the script, what was heard beside it, and what a host answers when
it is asked."""

import asyncio
import json
import os

import mcp_types as types
from mcp import MCPError


class Events:
    """What came without being asked for."""

    def __init__(self):
        self.logs = []
        self.queues = {}

    def add(self, kind, what=None):
        self.queue(kind).put_nowait(what)

    def queue(self, kind):
        return self.queues.setdefault(kind, asyncio.Queue())

    async def next(self, kind):
        return await asyncio.wait_for(self.queue(kind).get(), 20)

    def rest(self, kind):
        queue = self.queue(kind)
        return [queue.get_nowait() for _ in range(queue.qsize())]


class answers:
    """What a host answers; the hosts in other languages do the same."""

    @staticmethod
    def sampled(said):
        content = {"type": "text", "text": f"you said {said}"}
        return {"role": "assistant", "model": "a-model", "stopReason": "endTurn", "content": content}

    @staticmethod
    def elicited(message):
        if "decline" in message:
            return {"action": "decline"}
        return {"action": "accept", "content": {"name": "Ada", "copies": 2}}

    @staticmethod
    def roots():
        return {"roots": [{"uri": "file:///home/ada", "name": "home"}, {"uri": "file:///srv"}]}


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def say(line):
    print(json.dumps(line), flush=True)


class Steps:
    """The steps by their names, for a client that has the methods of the official one."""

    def __init__(self, client, events):
        self.client = client
        self.events = events
        self.is_modern = client.protocol_version == "2026-07-28"
        self.listening = None

    async def run(self):
        """Says with whom it speaks, and carries out the script."""
        server = self.client.server_info
        say({"server": server and server.name, "revision": self.client.protocol_version})
        for step in json.loads(os.environ.get("SCRIPT", "[]")):
            try:
                say(await asyncio.wait_for(getattr(self, step["do"])(step), 60))
            except MCPError as error:
                say({"error": {"code": error.error.code, "message": error.error.message}})
        if self.listening:
            self.listening.cancel()
            await asyncio.gather(self.listening, return_exceptions=True)

    async def heard(self, step):
        return {"heard": await self.events.next(step["kind"])}

    async def logs(self, step):
        return {"logs": self.events.logs}

    async def errors(self, step):
        return {"errors": self.events.rest("errors")}

    async def list(self, step):
        client = self.client
        return {
            "tools": [tool.name for tool in (await client.list_tools()).tools],
            "resources": [str(item.uri) for item in (await client.list_resources()).resources],
            "templates": [item.uri_template for item in (await client.list_resource_templates()).resource_templates],
            "prompts": [item.name for item in (await client.list_prompts()).prompts],
        }

    async def call(self, step):
        progress = []

        async def on_progress(now, total, message):
            progress.append([now, total, message])

        wants = {"progress_callback": on_progress} if step.get("progress") else {}
        result = await self.client.call_tool(step["tool"], step.get("arguments"), **wants)
        return plain(result) | ({"progress": progress} if progress else {})

    async def cancel(self, step):
        begun = asyncio.Event()

        async def on_progress(now, total, message):
            begun.set()

        call = asyncio.create_task(
            self.client.call_tool(step["tool"], step.get("arguments"), progress_callback=on_progress)
        )
        await asyncio.wait_for(begun.wait(), 20)
        call.cancel()
        return {"cancelled": (await asyncio.gather(call, return_exceptions=True))[0].__class__.__name__}

    async def read(self, step):
        return plain(await self.client.read_resource(step["uri"]))

    async def prompt(self, step):
        return plain(await self.client.get_prompt(step["name"], step.get("arguments")))

    async def complete(self, step):
        ref = types.PromptReference(type="ref/prompt", name=step["prompt"])
        result = await self.client.complete(ref, {"name": step["argument"], "value": step["value"]})
        return {"values": result.completion.values}

    async def level(self, step):
        await self.client.set_logging_level(step["level"])
        return {}

    async def watch(self, step):
        if not self.is_modern:
            await self.client.subscribe_resource(step["uri"])
            return {}
        acknowledged = asyncio.Event()

        async def listen():
            stream = self.client.listen(tools_list_changed=True, resource_subscriptions=[step["uri"]])
            async with stream as subscription:
                acknowledged.set()
                async for event in subscription:
                    match type(event).__name__:
                        case "ToolsListChanged":
                            self.events.add("tools")
                        case "ResourceUpdated":
                            self.events.add("updated", event.uri)

        self.listening = asyncio.create_task(listen())
        await asyncio.wait_for(acknowledged.wait(), 20)
        return {}
