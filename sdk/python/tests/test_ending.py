"""When a program serves, and how it ends."""

import textwrap
import unittest

from .bridge import Bridge

PLAIN = '''
    from protomcp import tool

    @tool("Adds")
    def add(a: int, b: int) -> int:
        return a + b
'''


def serving(source, **more):
    return Bridge(source, **more).connect()


class Serves(unittest.TestCase):
    def check(self, bridge, text="3"):
        with bridge:
            self.assertEqual(bridge.call("add", {"a": 1, "b": 2}).text, text)
            bridge.socket.close()
            self.assertEqual(bridge.ended()[0], 0, bridge.said())

    def test_at_the_end_of_the_file(self):
        self.check(serving(PLAIN))

    def test_when_told_to(self):
        run = "    from protomcp.runner import run\n    run()\n    print('after', flush=True)\n"
        bridge = serving(PLAIN + "\n    if __name__ == '__main__':\n    " + run.replace("\n    ", "\n        "))
        with bridge:
            self.assertEqual(bridge.call("add", {"a": 1, "b": 2}).text, "3")
            bridge.socket.close()
            status, said = bridge.ended()
            self.assertEqual((status, said), (0, "after\n"))

    def test_as_a_module(self):
        files = {"package/__init__.py": "", "package/server.py": PLAIN}
        self.check(serving("", args=("-m", "package.server"), files=files))

    def test_as_text_on_the_command_line(self):
        self.check(serving("", args=("-c", textwrap.dedent(PLAIN))))

    def test_when_another_module_imports_the_package_first(self):
        files = {"other.py": "import protomcp\nprotomcp.configure(concurrency=3)\n"}
        bridge = serving("    import other\n" + PLAIN, files=files)
        self.assertEqual(bridge.list["max_concurrent_calls"], 3)
        self.check(bridge)

    def test_in_a_function_of_its_own(self):
        source = PLAIN + '''
    def main():
        from protomcp import run
        run()

    main()
    '''
        self.check(serving(source))


class DoesNotServe(unittest.TestCase):
    def ended(self, source, **more):
        with Bridge(source, **more) as bridge:
            return bridge.ended()

    def test_after_an_exception(self):
        status, said = self.ended(PLAIN + "\n    raise ValueError('broken')\n")
        self.assertEqual(status, 1)
        self.assertIn("ValueError: broken", said)

    def test_after_an_exit(self):
        for how in ("sys.exit(3)", "raise SystemExit(3)", "exit(3)"):
            status, _ = self.ended(PLAIN + f"\n    import sys\n    {how}\n")
            self.assertEqual(status, 3, how)
        status, said = self.ended(PLAIN + "\n    import sys\n    sys.exit('set KEY first')\n")
        self.assertEqual((status, said), (1, "set KEY first\n"))

    def test_without_anything_to_serve(self):
        self.assertEqual(self.ended("    import protomcp\n    print('nothing', flush=True)\n"), (0, "nothing\n"))

    def test_when_started_by_hand(self):
        status, said = self.ended("    from protomcp import run\n    run()\n", env={"PROTOMCP_SOCKET": ""})
        self.assertEqual(status, 1)
        self.assertIn("pmcp dev", said)
        self.assertEqual(self.ended(PLAIN, env={"PROTOMCP_SOCKET": ""}), (0, ""))

    def test_where_nobody_listens(self):
        for run in ("", "\n    from protomcp import run\n    run()\n"):
            status, said = self.ended(PLAIN + run, env={"PROTOMCP_SOCKET": "/nowhere/s"})
            self.assertEqual(status, 1)
            self.assertIn("/nowhere/s can't be reached", said)
            self.assertEqual(len(said.splitlines()), 1, said)


class WhileItServes(unittest.TestCase):
    """What a program can do after the end of its main module."""

    def text(self, body, imports=""):
        source = f'''
from protomcp import tool
{imports}

@tool("Does it")
def do() -> str:
{textwrap.indent(textwrap.dedent(body), "    ")}
'''
        with serving(source) as bridge:
            result = bridge.call("do")
            bridge.socket.close()
            self.assertEqual(bridge.ended()[0], 0, bridge.said())
            return result.text

    def test_threads(self):
        body = """
            import threading
            found = []
            thread = threading.Thread(target=lambda: found.append(7))
            thread.start()
            thread.join()
            return str(found)
        """
        self.assertEqual(self.text(body), "[7]")

    def test_executors(self):
        body = """
            from concurrent.futures import ThreadPoolExecutor
            with ThreadPoolExecutor() as pool:
                return str(pool.submit(lambda: 7).result())
        """
        self.assertEqual(self.text(body), "7")
        self.assertEqual(self.text(body, "import concurrent.futures.thread"), "7")
        imports = "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor()\npool.submit(int)"
        self.assertEqual(self.text("return str(pool.submit(lambda: 7).result())", imports), "7")

    def test_processes(self):
        body = """
            import subprocess, sys
            return subprocess.run([sys.executable, "-c", "print(7)"], capture_output=True, text=True).stdout.strip()
        """
        self.assertEqual(self.text(body), "7")

    def test_processes_of_multiprocessing(self):
        for how in ("fork", "spawn"):
            source = f'''
import multiprocessing
from protomcp import tool

def double(x):
    return x * 2

@tool("Does it")
def do() -> str:
    with multiprocessing.get_context("{how}").Pool(1) as pool:
        return str(pool.map(double, [1, 2]))
'''
            with serving(source) as bridge:
                self.assertEqual(bridge.call("do").text, "[2, 4]", how)
                bridge.socket.close()
                self.assertEqual(bridge.ended()[0], 0)

    def test_event_loops(self):
        body = """
            import asyncio
            async def wait():
                return await asyncio.to_thread(lambda: 7) if hasattr(asyncio, "to_thread") else 7
            return str(asyncio.run(wait()))
        """
        self.assertEqual(self.text(body), "7")

    def test_what_is_registered_for_the_end_is_called_then(self):
        source = PLAIN + '''
    import atexit
    atexit.register(lambda: print("bye", flush=True))
    '''
        with serving(source) as bridge:
            bridge.call("add", {"a": 1, "b": 2})
            self.assertEqual(bridge.said(), "")
            bridge.terminate()
            self.assertEqual(bridge.ended(), (0, "bye\n"))

    def test_a_thread_that_never_ends_does_not_keep_the_process(self):
        source = PLAIN + '''
    import threading, time, protomcp.runner
    protomcp.runner._END_WITHIN = 0.2
    threading.Thread(target=time.sleep, args=(600,)).start()
    '''
        with serving(source) as bridge:
            bridge.call("add", {"a": 1, "b": 2})
            bridge.socket.close()
            self.assertEqual(bridge.ended()[0], 0)

    def test_children_do_not_learn_of_the_bridge(self):
        body = """
            import os
            return os.environ.get("PROTOMCP_SOCKET", "nothing")
        """
        self.assertEqual(self.text(body), "nothing")


class Mistakes(unittest.TestCase):
    """Each is one line with its place, and the program does not serve."""

    def said(self, source, **more):
        with Bridge(source, **more) as bridge:
            status, said = bridge.ended()
            self.assertEqual(status, 1, said)
            return said

    def one(self, body, line, *parts):
        source = "from protomcp import *\nfrom typing import *\n" + textwrap.dedent(body)
        said = self.said(source)
        self.assertEqual(len(said.splitlines()), 1, said)
        self.assertTrue(said.startswith(f"server.py:{line}: "), said)
        for part in parts:
            self.assertIn(part, said)

    def test_no_type_hint(self):
        body = """
            @tool("Adds")
            def add(a: int, b):
                return a + b
        """
        self.one(body, 4, 'the tool "add"', "the parameter b needs a type hint", "b: str")

    def test_not_callable(self):
        self.one('\ntool("Adds")(7)\n', 4, "a function is needed, and this is 7")
        self.one('\nresource("a://b")("text")\n', 4, "a function is needed")

    def test_two_of_one_name(self):
        body = """
            @tool("Adds")
            def add(a: int) -> int:
                return a

            @tool("Adds, too")
            def add(a: int, b: int) -> int:
                return a + b
        """
        self.one(body, 8, 'two tools are called "add"', "server.py:4")

    def test_a_default_that_does_not_fit(self):
        for hint, default in (
            ("int", "'ten'"), ("str", "5"), ("Literal['a', 'b']", "'c'"), ("List[int]", "['x']"), ("bool", "0"),
        ):
            body = f"""
                @tool("Finds")
                def find(limit: {hint} = {default}):
                    return limit
            """
            self.one(body, 4, 'the tool "find"', "limit", f"its default {default} does not fit its type")

    def test_defaults_that_fit(self):
        source = '''
            import enum, pathlib, datetime
            from dataclasses import dataclass
            from typing import *
            from protomcp import tool

            class Color(enum.Enum):
                RED = "red"

            @dataclass
            class Point:
                x: int = 0

            UNSET = object()

            @tool("Takes much")
            def take(a: float = 1, b: str = None, c: Optional[int] = None, d: Color = Color.RED, e: List[str] = (),
                     f: Point = Point(), g: pathlib.Path = pathlib.Path("."), h: str = UNSET, i=5,
                     j: datetime.date = datetime.date(2026, 1, 1), k: Union[int, str] = "x") -> str:
                return repr((a, b, c, d, e, f, g, h is UNSET, i, j, k))
        '''
        with serving(source) as bridge:
            text = bridge.call("take", {"b": None, "i": "7"}).text
            expected = (
                "(1, None, None, <Color.RED: 'red'>, (), Point(x=0), PosixPath('.'), True, 7, "
                "datetime.date(2026, 1, 1), 'x')"
            )
            self.assertEqual(text, expected)

    def test_a_type_that_is_none(self):
        body = """
            class Thing:
                pass

            @tool("Takes")
            def take(thing: Thing):
                return 1
        """
        self.one(body, 7, "the parameter thing", "the class Thing can't be told as JSON Schema")
        body = """
            @tool("Takes")
            def take(thing: "Thong"):
                return 1
        """
        self.one(body, 4, "name 'Thong' is not defined")

    def test_parameters_without_names(self):
        self.one('@tool("Takes")\ndef take(*things: int):\n    return 1\n', 3, "*args")
        self.one('@tool("Takes")\ndef take(a: int, /):\n    return 1\n', 3, "positional-only")

    def test_all_mistakes_are_told(self):
        source = '''
            from protomcp import tool

            @tool("One")
            def one(a):
                return a

            @tool("Two")
            def two(a):
                return a
        '''
        lines = self.said(source).splitlines()
        self.assertEqual([line.split(":")[1] for line in lines], ["4", "8"])

    def test_groups_and_workflows(self):
        self.one('@tool_group("g")\nclass G:\n    pass\n', 3, 'the tool group "g"', "no method")
        self.one('@tool_group("g", strategy="both")\nclass G:\n    pass\n', 3, "separate or union")
        body = """
            @workflow("w")
            class W:
                @step(initial=True, next=["gone"])
                def begin(self):
                    return 1
        """
        self.one(body, 4, "references nonexistent step 'gone'")

    def test_a_prompt_with_arguments_that_it_does_not_take(self):
        body = """
            @prompt("Asks", arguments=[PromptArg("topic")])
            def ask(subject: str):
                return subject
        """
        self.one(body, 4, 'the prompt "ask"', "takes no argument topic")

    def test_in_a_folder_of_handlers(self):
        source = "from protomcp import configure, tool\nconfigure(handlers_dir='handlers')\n"
        source += '@tool("A")\ndef a() -> str:\n    return ""\n'
        files = {"handlers/one.py": "from protomcp import tool\n@tool('Adds')\ndef add(a):\n    return a\n"}
        said = self.said(source, files=files)
        self.assertTrue(said.startswith("handlers/one.py:2: "), said)

    def test_settings(self):
        self.one("\nconfigure(concurrency=0)\n", 4, "concurrency")


if __name__ == "__main__":
    unittest.main()
