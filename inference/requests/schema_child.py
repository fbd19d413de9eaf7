"""The child process that compiles JSON schemas and checks answers against them (see `schema_process`).

On standard input: the lengths of a schema and of an answer, then both; an answer of no bytes asks for the schema
alone. On standard output: the length of a sentence, then the sentence; an empty one means that nothing is wrong.
A question that takes more processor time than LIMIT_S ends the process.
"""

import signal
import struct
import sys
from functools import lru_cache

import jsonschema_rs
import orjson

LIMIT_S = 0.5
QUESTION = struct.Struct(">II")
REPLY = struct.Struct(">I")
_SCHEMA_FAULT = 200
_ANSWER_FAULT = 900
_PLACE = 100


def main() -> None:
    """Answer questions until the input ends."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while head := source.read(QUESTION.size):
        schema_bytes, answer_bytes = QUESTION.unpack(head)
        schema, answer = source.read(schema_bytes), source.read(answer_bytes)
        # The default action of SIGPROF ends the process wherever it is, native code included.
        signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
        fault = _fault(schema, answer).encode("utf-8", "replace")
        signal.setitimer(signal.ITIMER_PROF, 0)
        sink.write(REPLY.pack(len(fault)) + fault)
        sink.flush()


@lru_cache(maxsize=16)
def _compiled(schema: bytes) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(schema.decode(), offline=True)


def _fault(schema: bytes, answer: bytes) -> str:
    try:
        validator = _compiled(schema)
    except ValueError as error:
        return str(error).split("\n", 1)[0][:_SCHEMA_FAULT] + _place(error)
    if not answer:
        return ""
    try:
        validator.validate(orjson.loads(answer))
    except orjson.JSONDecodeError:
        return "The answer is not valid JSON."
    except jsonschema_rs.ValidationError as error:
        return f"The answer does not match the schema: {error.message[:_ANSWER_FAULT]}{_place(error)}"
    return ""


def _place(error: ValueError) -> str:
    """Where in the document a fault is, as the keys that lead there; empty for the document itself."""
    path = ".".join(map(str, error.instance_path)) if isinstance(error, jsonschema_rs.ValidationError) else ""
    return f" (at {path[:_PLACE]})" if path else ""


if __name__ == "__main__":
    main()
