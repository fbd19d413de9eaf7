"""Bodies that break parsers, with the type they are sent as."""

import gzip
import json

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=b"


def part(name: str, content: bytes, more: str = "") -> bytes:
    return f'--b\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'.encode() + content + b"\r\n"


_AS_JSON = (
    b"",
    b"{",
    b"null",
    b"[]",
    b"1",
    b'"text"',
    b"nonsense",
    b"\xff\xfe{}",
    b"\xef\xbb\xbf{}",
    b'{"model": NaN}',
    b'{"model": 1e999999}',
    b'{"model": ' + b"9" * 6000 + b"}",
    b'{"model": -' + b"9" * 6000 + b"}",
    b'{"model": "\\ud800"}',
    b'{"model": "\\u0000", "custom_id": "\\u0000"}',
    b'{"model": "scripted", "model": "other"}',
    b'{"__proto__": {"a": 1}, "constructor": 1}',
    b"[" * 200_000,
    b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    b'{"model": "scripted", "messages": ' + b"[" * 900 + b"]" * 900 + b"}",
    json.dumps({f"field-{number}": number for number in range(5000)}).encode(),
    json.dumps({"model": "scripted", "messages": [{"role": "user", "content": "x"}] * 3000}).encode(),
    json.dumps({"model": ["scripted"], "messages": {"role": 1}, "input": {"a": []}, "stream": "yes"}).encode(),
    json.dumps({"model": "scripted", "input": ["x", 1, None, {}, []], "questions": [], "prompt": {}}).encode(),
    json.dumps({"model": "../../etc/passwd", "input": "x", "messages": [], "questions": {}}).encode(),
    json.dumps({"model": "scripted", "messages": [{"role": "user", "content": "x"}], "max_tokens": 2**70}).encode(),
    json.dumps({"source_url": "https://u:p@169.254.169.254/", "callback_url": "file:///etc/passwd"}).encode(),
    gzip.compress(b"\0" * 5_000_000),
    b"a" * 3_000_000,
)
_AS_FORM = (
    b"%",
    b"=&=&&&",
    b"%ff=%fe&%00=%00",
    b"a" * 2_000_000,
    "&".join(f"field{number}=1" for number in range(5000)).encode(),
    b"csrfmiddlewaretoken=%00",
)
_AS_MULTIPART = (
    b"",
    b"--b",
    b"--b--\r\n",
    b"--b\r\n\r\n\r\n--b--\r\n",
    b"--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--\r\n",
    part("file", b"x", '; filename="../../etc/passwd"') + b"--b--\r\n",
    part("file", b"x", '; filename="\0\xff"') + b"--b--\r\n",
    part("file", b"x", "; filename*=UTF-8''%2e%2e%2fpasswd%00") + b"--b--\r\n",
    part("key", b"../../etc/passwd") + part("file", b"x", '; filename="x"') + b"--b--\r\n",
    part("purpose", b"batch") + part("file", b'{"a":' * 20_000, '; filename="x.jsonl"') + b"--b--\r\n",
    part("a", b"x") * 2000 + b"--b--\r\n",
    b"--b\r\nContent-Disposition: form-data; name=" + b"a" * 70_000 + b"\r\n\r\nx\r\n--b--\r\n",
    b"--b\r\n" + b"X-Header: y\r\n" * 2000 + b"\r\nx\r\n--b--\r\n",
    b"--b\r\nContent-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64\r\n\r\n=\r\n--b--\r\n",
)
BODIES = (
    *((JSON, body) for body in _AS_JSON),
    *((FORM, body) for body in _AS_FORM),
    *((MULTIPART, body) for body in _AS_MULTIPART),
    ("text/xml", b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>'),
    ("application/octet-stream", bytes(range(256))),
)
