"""Docstrings in three styles."""

import unittest

from protomcp.docstring import read


class Docstrings(unittest.TestCase):
    def check(self, text, description, **params):
        self.assertEqual(read(text), (description, params))

    def test_none(self):
        self.check("", "")
        self.check("Does it.", "Does it.")
        self.check("Does it.\n\n    In two steps:\n      one, two.\n    ", "Does it.\n\nIn two steps:\none, two.")

    def test_google(self):
        self.check(
            """Does it.

            More of it.

            Args:
                one: The first: with a colon.
                two (int, optional): The second
                    goes on.

                three: Behind an empty line.
                *rest: All others.

            Returns:
                result: not a parameter
            """,
            "Does it.\n\nMore of it.",
            one="The first: with a colon.",
            two="The second goes on.",
            three="Behind an empty line.",
            rest="All others.",
        )

    def test_numpy(self):
        self.check(
            """Does it.

            Parameters
            ----------
            one : int
                The first.
            two, three : str, optional
                The others
                go on.
            four

            Returns
            -------
            int
                Not a parameter.
            """,
            "Does it.",
            one="The first.",
            two="The others go on.",
            three="The others go on.",
        )

    def test_sphinx(self):
        self.check(
            """Does it.

            :param one: The first
                goes on.
            :param int two: The second.
            :type one: str
            :returns: not a parameter
            """,
            "Does it.",
            one="The first goes on.",
            two="The second.",
        )

    def test_what_only_looks_like_a_section(self):
        self.check("Does it: args are nice.", "Does it: args are nice.")
        self.check("Example of it.", "Example of it.")


if __name__ == "__main__":
    unittest.main()
