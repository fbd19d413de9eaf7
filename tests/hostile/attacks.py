"""What is sent to every route: hostile paths, queries, headers, bodies and methods."""

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from tests.hostile.bodies import BODIES, FORM, JSON
from tests.whole import Route

# As bytes of a request line, percent-encoded where HTTP wants it.
IN_PATH = (
    "%00",
    "..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e/%2e%2e/etc/passwd",
    "..\\..\\windows",
    "%ff%fe%c0%af",
    "%ed%a0%80",
    "%0d%0aX-Forged:%20yes",
    "%E2%80%AE%F0%9F%98%80%CC%81",
    "%27%20OR%201=1--",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "%7B%7B7*7%7D%7D",
    "-1",
    "0",
    "99999999999999999999",
    "1e308",
    "NaN",
    "%D9%A3%D9%A3",
    "00000000-0000-0000-0000-00000000000g",
    "A" * 3000,
    "https:%2f%2fevil.example",
    "%25s%25n%25x",
    "__debug__",
)
VALUES = (
    "",
    "\0",
    "../../../etc/passwd",
    "\r\nX-Forged: yes",
    "\ud800",
    "\u202e\U0001f600\u0301",
    "' OR 1=1--",
    "<script>alert(1)</script>",
    "{{7*7}}{% debug %}",
    "-1",
    "0",
    "99999999999999999999",
    "1e999",
    "NaN",
    "-Infinity",
    "9" * 5000,
    "٣",
    "00000000-0000-0000-0000-00000000000g",
    "0001-01-01",
    "9999-12-31T23:59:59.999999Z",
    "2026-02-30",
    "https://evil.example/",
    "//evil.example",
    "javascript:alert(1)",
    "https://user:pass@169.254.169.254/",
    "%s%n%x",
    "A" * 5000,
    "[]",
    "null",
    "on",
)
# Read by libraries, or by nobody yet.
ANYWAY = ("page", "p", "q", "o", "e", "all", "next", "limit", "after", "id__exact", "_popup", "_to_field", "cursor")
HEADERS = (
    ("Host", ""),
    ("Host", "evil.example"),
    ("Host", "127.0.0.1:0:0"),
    ("X-Forwarded-Host", "evil.example"),
    ("X-Forwarded-For", "' OR 1=1--, \x7f, ::::"),
    ("X-Forwarded-Proto", "javascript"),
    ("Authorization", "Bearer"),
    ("Authorization", "Bearer sk-\xff\xfe"),
    ("Authorization", "Basic \x80==="),
    ("Cookie", 'anex_session=\xff; anex_csrf=\x01; theme="; ;;=;a'),
    ("Cookie", "anex_session=" + "A" * 4000),
    ("Content-Type", "application/json; charset=nonsense"),
    ("Content-Type", "application/x-www-form-urlencoded; charset=utf-16"),
    ("Content-Type", "multipart/form-data"),
    ("Content-Type", "multipart/form-data; boundary="),
    ("Content-Type", "\xff/\xfe; ="),
    ("Content-Encoding", "gzip"),
    ("Accept", "text/html;q=NaN, */*;q=9e999"),
    ("Accept-Encoding", "gzip;q=x, br;q=-1, *;q=\xff"),
    ("Accept-Language", ",".join(["xx-yy"] * 500)),
    ("Range", "bytes=99999999999999999999-1"),
    ("Range", "bytes=-0,0-,--,1-0"),
    ("If-Range", '"\xff"'),
    ("If-None-Match", 'W/"' + "x" * 3000),
    ("If-Modified-Since", "Thu, 99 Foo 99999 99:99:99 GMT"),
    ("Idempotency-Key", "\xff" * 300),
    ("Idempotency-Key", "' OR 1=1--"),
    ("HX-Request", "true"),
    ("HX-Current-URL", "https://[evil"),
    ("Referer", "https://[evil"),
    ("Origin", "https://[evil"),
    ("Origin", "null"),
    ("X-CSRFToken", "\xff"),
    ("X-HTTP-Method-Override", "DELETE"),
    ("Traceparent", "00-zz-zz-zz"),
    ("X-Request-Id", "forged\x0bline"),
    ("X-Stainless-Retry-Count", "-1e9"),
    ("Expect", "200-maybe"),
    ("Upgrade", "h2c"),
    ("Connection", "X-Request-Id, close, upgrade"),
    ("Forwarded", 'for="[evil";host=evil.example'),
)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")


@dataclass(frozen=True)
class Attack:
    """One request; `target` stands in the request line as it is."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    content: bytes = field(default=b"", repr=False)


def attacks(route: Route, names: set[str], value_of: Callable[[str], str], methods: set[str]) -> list[Attack]:
    """What there is against a route whose handlers ask for these names, in an order that is the route's own.

    What a method carries is sent where it is one of `methods`.
    """
    plain = path_of(route, value_of)
    # A wrong token would be all that is found.
    known = sorted((names | set(ANYWAY)) - {"csrfmiddlewaretoken"})
    found = [
        *_paths(route, value_of),
        *(_queries(plain, known) if "GET" in methods else ()),
        *_headers(plain, methods),
        *((*_forms(plain, known), *_bodies(plain, known)) if "POST" in methods else ()),
        *(Attack(method, plain) for method in METHODS),
    ]
    random.Random(route.route).shuffle(found)
    return found


def path_of(route: Route, value_of: Callable[[str], str]) -> str:
    """A path of the route; what `value_of` answers stands for its parameters."""
    return _filled(route, lambda _, name: value_of(name))


def _paths(route: Route, value_of: Callable[[str], str]) -> Iterator[Attack]:
    names = re.findall(r"<(?:\w+:)?(\w+)>", route.plain)
    for attacked in names:
        for value in IN_PATH:
            target = _filled(route, lambda _, name, at=attacked, put=value: put if name == at else value_of(name))
            for method in ("GET", "POST", "DELETE"):
                yield Attack(method, target)
    plain = path_of(route, value_of)
    for method in ("GET", "POST"):
        for more in ("/", "//", "/../", "/%2e%2e/", ";x=y", "%00", "%ff", "?", "#", ".json", "/" + "A" * 7000):
            yield Attack(method, plain + more)
        yield Attack(method, "/" + plain)
        yield Attack(method, plain.upper())


def _filled(route: Route, value_of: Callable[[str, str], str]) -> str:
    return re.sub(r"<(?:(\w+):)?(\w+)>", lambda found: value_of(found[1] or "", found[2]), route.plain)


def _queries(plain: str, names: list[str]) -> Iterator[Attack]:
    for name in names:
        for value in VALUES:
            yield Attack("GET", f"{plain}?{_encoded({name: value})}")
        yield Attack("GET", f"{plain}?{name}=%ff%fe&{name}=&{name}[]=1&{name}[a]=2")
    yield Attack("GET", f"{plain}?{_encoded(dict.fromkeys(names, VALUES[3]))}")
    yield Attack("GET", plain + "?" + "&".join(f"a{number}=" for number in range(1200)))
    yield Attack("GET", plain + "?" + "%" * 50 + "&=&&==&%zz=%")
    yield Attack("GET", plain + "?" + "a" * 9000)


def _headers(plain: str, methods: set[str]) -> Iterator[Attack]:
    for header in HEADERS:
        for method in sorted(methods):
            yield Attack(method, plain, (header,), b"{}" if method == "POST" else b"")


def _forms(plain: str, names: list[str]) -> Iterator[Attack]:
    kind = (("Content-Type", FORM),)
    for name in names:
        for value in VALUES:
            yield Attack("POST", plain, kind, _encoded(dict.fromkeys(names, "1") | {name: value}).encode())
    for value in VALUES:
        yield Attack("POST", plain, kind, _encoded(dict.fromkeys(names, value)).encode())
    yield Attack("POST", plain, kind, "&".join(f"{name}=1" for name in names * 100).encode())


def _bodies(plain: str, names: list[str]) -> Iterator[Attack]:
    for name in names:
        for value in VALUES:
            body = json.dumps({name: value}).encode()
            yield Attack("POST", plain, (("Content-Type", JSON),), body)
    for kind, body in BODIES:
        for method in ("POST", "PUT", "PATCH"):
            yield Attack(method, plain, (("Content-Type", kind),), body)
    for value in (-1, 2**63, 2**200, 1e308, True, None, [], {}, [[]], {"a": {"b": []}}, "\0"):
        body = json.dumps(dict.fromkeys(names, value)).encode()
        yield Attack("POST", plain, (("Content-Type", JSON),), body)


def _encoded(fields: dict[str, str]) -> str:
    return urlencode(fields, errors="surrogatepass", quote_via=quote)
