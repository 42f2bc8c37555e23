"""The codec, against what prost writes and reads, against the schema, and against nonsense."""

import json
import re
import unittest
from pathlib import Path

from protomcp import wire

HERE = Path(__file__).resolve()
VECTORS = HERE.parents[2] / "vectors.jsonl"
SCHEMA = HERE.parents[3] / "proto" / "protomcp.proto"


def spelled(type_name, message):
    """A decoded message as the vectors spell it."""
    out = {}
    for name, value in message.items():
        field = wire.TYPES[type_name].by_name[name]
        values = [one_spelled(field, one) for one in (value if field.repeated else [value])]
        out[name] = values if field.repeated else values[0]
    return out


def one_spelled(field, value):
    if field.message is not None:
        return spelled(field.type, value)
    if field.type == "b":
        return value.hex()
    return str(value) if field.type in ("i64", "u64") else value


def unspelled(type_name, shown):
    message = {}
    for name, value in shown.items():
        field = wire.TYPES[type_name].by_name[name]
        values = [one_unspelled(field, one) for one in (value if field.repeated else [value])]
        message[name] = values if field.repeated else values[0]
    return message


def one_unspelled(field, value):
    if field.message is not None:
        return unspelled(field.type, value)
    if field.type == "b":
        return bytes.fromhex(value)
    return int(value) if field.type in ("i64", "u64") else value


class Vectors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lines = [json.loads(line) for line in VECTORS.read_text().splitlines()]

    def test_what_prost_writes_is_read(self):
        read = 0
        for line in self.lines:
            if "json" in line:
                message = wire.decode(line["message"], bytes.fromhex(line["hex"]))
                self.assertEqual(spelled(line["message"], message), line["json"], line)
                read += 1
        self.assertGreater(read, 200)

    def test_the_same_bytes_are_written(self):
        written = 0
        for line in self.lines:
            if "json" in line and "only" not in line:
                message = unspelled(line["message"], line["json"])
                # Whatever order the fields are given in.
                turned = dict(reversed(list(message.items())))
                for one in (message, turned):
                    self.assertEqual(wire.encode(line["message"], one).hex(), line["hex"], line)
                written += 1
        self.assertGreater(written, 200)

    def test_what_prost_refuses_is_refused(self):
        refused = 0
        for line in self.lines:
            if "error" in line:
                with self.assertRaises(wire.WireError, msg=line):
                    wire.decode(line["message"], bytes.fromhex(line["hex"]))
                refused += 1
        self.assertGreater(refused, 10)


class Schema(unittest.TestCase):
    KINDS = {"string": "s", "bytes": "b", "bool": "t"}
    NUMBERS = {"int32": "i32", "int64": "i64", "uint32": "u32", "uint64": "u64"}

    def test_the_table_is_the_schema(self):
        found = {}
        message = one_of = None
        for line in SCHEMA.read_text().splitlines():
            line = line.split("//")[0].strip()
            opening = re.match(r"message (\w+) \{(\}?)", line)
            field = re.match(r"(repeated )?(\w+) (\w+) = (\d+);", line)
            if opening:
                message = found.setdefault(opening[1], {})
            elif line.startswith("oneof"):
                one_of = True
            elif line == "}":
                one_of = None
            elif field:
                repeated, kind, name, number = field.groups()
                kind = {**self.KINDS, **self.NUMBERS}.get(kind, kind)
                message[name] = (int(number), kind, bool(repeated), bool(one_of))
        table = {
            name: {
                field.name: (field.number, field.type, field.repeated, field.one_of)
                for field in message_type.by_name.values()
            }
            for name, message_type in wire.TYPES.items()
        }
        self.assertEqual(table, found)


class Nonsense(unittest.TestCase):
    CALL = wire.encode(
        "Envelope",
        {
            "call_tool": {"name": "add", "arguments_json": "{}", "input": {"state": b"x" * 200}},
            "request_id": "7",
        },
    )

    def test_every_prefix_is_refused_or_is_a_message(self):
        for end in range(len(self.CALL)):
            try:
                wire.decode("Envelope", self.CALL[:end])
            except wire.WireError:
                pass

    def test_every_changed_byte_is_refused_or_is_a_message(self):
        for at in range(len(self.CALL)):
            for byte in (0, 1, 0x7F, 0x80, 0xFF):
                try:
                    wire.decode("Envelope", self.CALL[:at] + bytes((byte,)) + self.CALL[at + 1 :])
                except wire.WireError:
                    pass

    def test_a_length_is_never_believed(self):
        for length in (b"\x05", b"\xff\xff\xff\xff\x0f", b"\xff" * 9 + b"\x01"):
            with self.assertRaises(wire.WireError):
                wire.decode("CancelRequest", b"\x0a" + length + b"ab")

    def test_unknown_fields_of_every_wire_type_are_skipped(self):
        known = wire.encode("CancelRequest", {"request_id": "7"})
        unknown = [
            b"\xf8\x7f\x05",
            b"\xf9\x7f12345678",
            b"\xfa\x7f\x03abc",
            b"\xfd\x7f1234",
            b"\xfb\x7f\x08\x01\x12\x01a\xfc\x7f",
        ]
        for extra in unknown:
            for data in (extra + known, known + extra):
                self.assertEqual(wire.decode("CancelRequest", data), {"request_id": "7"})

    def test_groups_in_groups_end(self):
        with self.assertRaises(wire.WireError):
            wire.decode("CancelRequest", b"\xfb\x7f" * 100_000)

    def test_wrong_values_are_not_written(self):
        for name, message in (
            ("CancelRequest", {"request_id": 7}),
            ("CancelRequest", {"nothing": "7"}),
            ("CancelRequest", {"request_id": "\ud800"}),
            ("StreamHeader", {"chunk_size": 2**32}),
            ("StreamHeader", {"chunk_size": -1}),
            ("StreamHeader", {"chunk_size": "7"}),
            ("ToolListResponse", {"tools": ["add"]}),
        ):
            with self.assertRaises(wire.WireError, msg=message):
                wire.encode(name, message)


if __name__ == "__main__":
    unittest.main()
