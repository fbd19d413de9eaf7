"""Clients on bare sockets that leave at any point of a request, in any way a socket can be left."""

import asyncio
import random
import socket
import struct
from typing import Any, Final

import orjson

# Where a client leaves: within its request, before a byte of the answer, after some of it, at any time, or not at all.
POINTS: Final = ("in the request", "before the answer", "in the answer", "at some time", "never")
# How: an orderly end, a reset, or a half-closed connection that is read to its end.
WAYS: Final = ("closes", "resets", "stops sending")
_QUESTION: Final = {"type": "noul", "instructions": "Is it?"}
_RESET: Final = struct.pack("ii", 1, 0)


def request(chance: random.Random) -> tuple[str, dict[str, Any]]:
    """The path and body of a request of some kind: one that takes a while, as the scripted engine is told."""
    match chance.randrange(5):
        case 0:
            pause = f"[[sleep {chance.randrange(30)}]]"
            return f"/{chance.choice(['v1', 'realtime/v1'])}/embeddings", {"model": "scripted-embed", "input": pause}
        case 1:
            pause = f"[[sleep {chance.randrange(30)}]]"
            body = {"model": "scripted-decide", "state": pause, "questions": {"q": _QUESTION}}
            return f"/{chance.choice(['v1', 'realtime/v1'])}/systemone", body
        case 2:
            return _on_second(chance)
        case kind:
            text = f"[[tokens {chance.randrange(1, 30)}]] [[pace {chance.randrange(5)}]]"
            body = {"model": "scripted", "max_tokens": 40, "messages": [{"role": "user", "content": text}]}
            return "/v1/chat/completions", body | {"stream": kind == 3}


def _on_second(chance: random.Random) -> tuple[str, dict[str, Any]]:
    """One of a text protocol, unlike all others: what is sent again there is not run again."""
    text = f"[[tokens {chance.randrange(1, 30)}]] [[pace {chance.randrange(5)}]] {chance.getrandbits(64)}"
    protocol, asked = chance.choice(
        [
            ("chat/completions", {"messages": [{"role": "user", "content": text}]}),
            ("responses", {"input": text}),
            ("completions", {"prompt": text}),
        ]
    )
    return f"/openai/v1/{protocol}", {"model": "scripted", "stream": chance.random() < 0.5, **asked}


async def leave(port: int, authorization: str, chance: random.Random) -> str:
    """One request on a connection of its own; the status of a whole answer, or where its client left."""
    path, body = request(chance)
    point, way = chance.choice(POINTS), chance.choice(WAYS)
    sent = orjson.dumps(body)
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {authorization}\r\nContent-Type: application/json\r\n"
    whole = f"{head}Content-Length: {len(sent)}\r\nConnection: close\r\n\r\n".encode() + sent
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(whole[: chance.randrange(len(whole))] if point == "in the request" else whole)
        await writer.drain()
        if point == "never":
            answer = await reader.read(-1)
            return answer.split(b" ", 2)[1].decode() if _is_whole(answer) else "broken off"
        await _stay(reader, point, chance)
        if way == "stops sending":
            writer.write_eof()
            await reader.read(-1)
    except ConnectionError:
        return "reset"
    finally:
        if way == "resets" and point != "never":
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            writer.transport.abort()
        writer.close()
    return point


async def _stay(reader: asyncio.StreamReader, point: str, chance: random.Random) -> None:
    if point == "in the answer":
        for _ in range(chance.randrange(1, 12)):
            await reader.read(chance.choice([1, 200, 4000]))
    elif point != "in the request":
        await asyncio.sleep(chance.uniform(0, 0.02 if point == "before the answer" else 0.2))


def _is_whole(answer: bytes) -> bool:
    return answer.endswith((b"}", b"0\r\n\r\n"))
