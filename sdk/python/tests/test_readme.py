"""What the README shows runs, and its bounds hold."""

import os
import re
import subprocess
import sys
import unittest

from .bridge import PACKAGE, Bridge


class Readme(unittest.TestCase):
    def test_every_example_serves(self):
        text = (PACKAGE / "README.md").read_text()
        examples = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        self.assertGreater(len(examples), 4)
        for example in examples:
            with Bridge(example).connect() as bridge:
                self.assertEqual(bridge.handshake, {"success": True})
                if "add" in bridge.tools:
                    self.assertEqual(bridge.call("add", {"a": 1, "b": 2}).text, "3")
                if "find" in bridge.tools:
                    found = bridge.call("find", {"name": "Brno"})
                    self.assertEqual(found.structured, {"name": "Brno", "people": 400_000})
                if "count" in bridge.tools:
                    self.assertEqual(bridge.call("count", {"steps": 2}).text, "counted 1 times")
                if "db" in bridge.tools:
                    self.assertEqual(bridge.call("db", {"action": "query", "sql": "S"}).text, "S 100")


class Bounds(unittest.TestCase):
    def test_nothing_but_the_standard_library_is_imported(self):
        code = "import sys; from protomcp import *; print(*sorted(sys.modules))"
        out = subprocess.run(
            [sys.executable, "-S", "-c", code],
            env={**os.environ, "PYTHONPATH": str(PACKAGE)},
            stdout=subprocess.PIPE,
            check=True,
        ).stdout.decode()
        heavy = {"asyncio", "dataclasses", "inspect", "logging", "subprocess", "urllib", "email"}
        self.assertEqual(heavy & set(out.split()), set(), "what takes long to import is imported when needed")

    def test_all_names_are_there(self):
        import protomcp

        for name in protomcp.__all__:
            self.assertTrue(hasattr(protomcp, name), name)
        self.assertEqual(set(protomcp.__all__), {*protomcp._WHERE, "tool_manager"})
        self.assertIs(protomcp.tool, sys.modules["protomcp.tool"].tool)


if __name__ == "__main__":
    unittest.main()
