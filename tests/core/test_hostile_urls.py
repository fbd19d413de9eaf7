"""URLs that lead inside, in every spelling: refused by the check, by a POST and by a GET, unheard by anybody inside.

`PORT` is a listener on every address of this machine, and an allowed port: a URL that slips through is counted.
"""

import socket
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_address

import pytest

from anex.core import addresses, destinations, safe_http
from anex.core.destinations import RefusedUrl, Rules, Unreachable
from tests import https

PUBLIC_V4, PUBLIC_V6 = "93.184.216.34", "2606:2800:220:1::1"
NAMES = {
    "loopback.test": ["127.0.0.1"],
    "loopback6.test": ["::1"],
    "metadata.google.internal": ["169.254.169.254"],
    "private.test": ["10.1.2.3"],
    "cgnat.test": ["100.64.0.1"],
    "mapped.test": ["::ffff:127.0.0.1"],
    "nat64.test": ["64:ff9b::7f00:1"],
    "sixtofour.test": ["2002:7f00:1::1"],
    "teredo.test": ["2001:0:7f00:1::1"],
    "unique-local.test": ["fd00:ec2::254"],
    "two-records.test": [PUBLIC_V4, "127.0.0.1"],
    "two-records-reversed.test": ["127.0.0.1", PUBLIC_V4],
    "two-families.test": [PUBLIC_V4, "::1"],
    "multicast.test": ["224.0.0.1"],
    "broadcast.test": ["255.255.255.255"],
    "unspecified.test": ["0.0.0.0"],
    "no-address.test": [],
    "127.0.0.1.nip.test": ["127.0.0.1"],
    "public.test": [PUBLIC_V4],
    "public6.test": [PUBLIC_V6],
    "xn--bcher-kva.test": [PUBLIC_V4],
}
HOSTILE = """
https://127.0.0.1:PORT/ https://127.0.0.2:PORT/ https://127.255.255.254:PORT/ https://0.0.0.0:PORT/ https://0:PORT/
https://10.0.0.1/ https://172.16.0.1/ https://192.168.1.1/ https://100.64.0.1/ https://100.100.100.200/latest/meta-data
https://169.254.169.254/latest/meta-data/ https://169.254.170.2/v2/credentials https://168.63.129.16/machine
https://192.0.0.192/opc/v2/ https://198.18.0.1/ https://192.0.2.1/ https://203.0.113.1/ https://224.0.0.1/
https://240.0.0.1/ https://255.255.255.255/
https://2130706433:PORT/ https://017700000001:PORT/ https://0x7f000001:PORT/ https://0x7f.0.0.1:PORT/
https://0177.0.0.1:PORT/ https://0177.0.0.01:PORT/ https://127.0.0.01:PORT/ https://127.1:PORT/ https://127.0.1:PORT/
https://0x7f.1:PORT/ https://127.0.0.1.:PORT/ https://0X7F.0X0.0X0.0X1:PORT/ https://127.0.0.0x1:PORT/
https://2852039166/ https://0xa9fea9fe/ https://0251.0376.0251.0376/ https://169.254.43518/
https://127.0.0.1%00.public.test:PORT/ https://127%2e0%2e0%2e1:PORT/ https://%31%32%37.0.0.1:PORT/
https://[::1]:PORT/ https://[::]:PORT/ https://[0:0:0:0:0:0:0:1]:PORT/ https://[::ffff:127.0.0.1]:PORT/
https://[::ffff:7f00:1]:PORT/ https://[::ffff:a9fe:a9fe]/ https://[::127.0.0.1]:PORT/ https://[::ffff:0:127.0.0.1]:PORT/
https://[64:ff9b::127.0.0.1]:PORT/ https://[64:ff9b::a00:1]/ https://[64:ff9b:1::1]/ https://[2002:7f00:1::1]:PORT/
https://[2001:0:7f00:1::1]/ https://[fe80::1]:PORT/ https://[fe80::1%25lo]:PORT/ https://[fe80::1%lo]:PORT/
https://[fec0::1]/ https://[fc00::1]/ https://[fd00:ec2::254]/latest/ https://[fd20:ce::254]/ https://[ff02::1]/
https://[2001:db8::1]/ https://[::1/ https://::1:PORT/ https://[127.0.0.1]:PORT/ https://[v1.127]:PORT/ https://[]/
https://localhost:PORT/ https://LOCALHOST:PORT/ https://localhost.:PORT/ https://localhost.localdomain.:PORT/
https://metadata/ https://postgres:PORT/ https://loopback.test.:PORT/
https://loopback.test:PORT/ https://LOOPBACK.test:PORT/ https://loopback6.test:PORT/ https://metadata.google.internal/
https://private.test/ https://cgnat.test/ https://mapped.test:PORT/ https://nat64.test:PORT/ https://sixtofour.test/
https://teredo.test/ https://unique-local.test/ https://two-records.test:PORT/ https://two-records-reversed.test:PORT/
https://two-families.test:PORT/ https://multicast.test/ https://broadcast.test/ https://unspecified.test:PORT/
https://no-address.test/ https://127.0.0.1.nip.test:PORT/
https://public.test@127.0.0.1:PORT/ https://user:secret@public.test/ https://user@public.test/ https://@public.test/
https://public.test:443@127.0.0.1:PORT/ https://public.test%40127.0.0.1:PORT/ https://127.0.0.1:PORT@public.test/
https://public.test\\@127.0.0.1:PORT/ https://127.0.0.1:PORT\\@public.test/
https:\\\\127.0.0.1:PORT\\ https:/127.0.0.1:PORT/ https:127.0.0.1:PORT/ https:///127.0.0.1:PORT/ https://?@127.0.0.1:PORT/
//127.0.0.1:PORT/ 127.0.0.1:PORT /etc/passwd https:// https://:PORT/ https://public.test:PORT:443/
http://public.test/ http://127.0.0.1:PORT/ HTTP://public.test/ ftp://public.test/ file:///etc/passwd gopher://127.0.0.1:PORT/
dict://127.0.0.1:PORT/ ldaps://127.0.0.1:PORT/ data:text/plain,x javascript:1 jar:https://127.0.0.1:PORT!/ unix:///run/x
https+unix://127.0.0.1:PORT/ url:https://127.0.0.1:PORT/ blob:https://127.0.0.1:PORT/
https://public.test:22/ https://public.test:25/ https://public.test:80/ https://public.test:6379/ https://public.test:0/
https://public.test:65536/ https://public.test:99999/ https://public.test:-443/ https://public.test:+443/ https://public.test:4e2/
https://public_.-test/ https://-.test/ https://a..test/ https://.test/ https://public.test,127.0.0.1/ https://*.test/
https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:PORT/ https://１２７.0.0.1:PORT/ https://127。0。0。1:PORT/ https://bücher.test/ https://loopback.test\uff0fa/
"""
REFUSED = [
    *HOSTILE.split(),
    " https://public.test/",
    "https://public.test/ ",
    "https://public.test/\r\nHost: 127.0.0.1",
    "https://public.test\t:443/",
    "https://public.test/a b",
    "https://127.0.0.1:PORT\n@public.test/",
    "https://public.test/\0",
    "https://" + "a" * 64 + ".test/",
    "https://" + "a.test" * 50 + "/",
    "https://public.test/" + "a" * 5000,
    "",
]
PASSED = """
https://public.test https://public.test/ https://public.test:443/ https://public.test:8443/a HTTPS://PUBLIC.test/a?b=c#d
https://public.test?a=https://127.0.0.1/ https://public.test/@127.0.0.1/ https://public6.test/
https://public.test#@127.0.0.1/ https://xn--bcher-kva.test/
https://93.184.216.34/ https://[2606:2800:220:1::1]:443/ https://[::ffff:93.184.216.34]/ https://[64:ff9b::808:808]/
"""


@pytest.fixture
def listener() -> Iterator[https.Listener]:
    with https.inner_listener("0.0.0.0") as counting:
        yield counting


@pytest.fixture
def rules(listener: https.Listener, authority: https.Authority) -> Rules:
    def resolve(host: str, port: int):
        if host not in NAMES:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [ip_address(text) for text in NAMES[host]]

    ports = frozenset({443, 8443, listener.port})
    return Rules(allows=addresses.is_public, ports=ports, trust=authority.trust, resolve=resolve)


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Where a connection was tried; none is made."""
    seen: list[tuple[str, int]] = []

    def connect(where: tuple[str, int], timeout: float) -> socket.socket:
        seen.append(where)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", connect)
    return seen


def each_way(url: str, rules: Rules) -> Iterator[tuple[str, object]]:
    caps = {"total_timeout_s": 5, "rules": rules}
    yield "check", lambda: safe_http.check_url(url, rules=rules)
    yield "post", lambda: safe_http.post(url, body=b"x", headers={}, max_response_bytes=10, **caps)
    yield "get", lambda: safe_http.stream_get(url, idle_timeout_s=5, max_bytes=10, **caps).__enter__()


@pytest.mark.parametrize("url", REFUSED)
def test_a_hostile_url_is_refused_before_any_connection(url, rules, listener, attempts):
    for _, ask in each_way(url.replace("PORT", str(listener.port)), rules):
        with pytest.raises(RefusedUrl):
            ask()
    assert attempts == []
    assert listener.connections == 0


@pytest.mark.parametrize("url", PASSED.split())
def test_a_public_url_passes_and_its_address_is_the_one_connected_to(url, rules, attempts):
    for way, ask in each_way(url, rules):
        if way == "check":
            ask()
        else:
            with pytest.raises(Unreachable):
                ask()
    assert len(attempts) == 2
    assert all(addresses.is_public(ip_address(host)) for host, _ in attempts)


def test_there_are_more_hostile_urls_than_asked_for():
    assert len(set(REFUSED)) >= 120


def test_the_platform_itself_allows_public_addresses_only():
    assert safe_http.PUBLIC.allows is addresses.is_public
    assert safe_http.PUBLIC.ports == {443, 8443}


def test_the_systems_resolver_answers_addresses():
    assert destinations.resolve("localhost", 443)
    assert not any(addresses.is_public(address) for address in destinations.resolve("localhost", 443))


def changing(rules: Rules) -> Rules:
    """A name that is public the first time it is asked for, and ours the second time."""
    answers = iter([["93.184.216.34"], ["127.0.0.1"]])
    return replace(rules, resolve=lambda host, port: [ip_address(text) for text in next(answers)])


def post(rules: Rules) -> None:
    safe_http.post("https://public.test/", body=b"", headers={}, total_timeout_s=5, max_response_bytes=1, rules=rules)


def test_a_name_that_changes_between_check_and_use_is_checked_at_use(rules, attempts):
    moved = changing(rules)
    safe_http.check_url("https://public.test/", rules=moved)
    with pytest.raises(RefusedUrl):
        post(moved)
    assert attempts == []


def test_a_name_is_resolved_once_and_the_checked_address_is_used(rules, attempts):
    moved = changing(rules)
    with pytest.raises(Unreachable):
        post(moved)
    assert attempts == [("93.184.216.34", 443)]
    assert moved.resolve("public.test", 443) == [ip_address("127.0.0.1")]


def test_a_refusal_names_the_host_and_keeps_the_query_and_inner_addresses_to_itself(rules):
    with pytest.raises(RefusedUrl, match=r"private\.test leads to an address that is not public") as refused:
        safe_http.check_url("https://private.test/a?X-Amz-Signature=secret", rules=rules)
    assert "secret" not in str(refused.value)
    assert "10.1.2.3" not in str(refused.value)
