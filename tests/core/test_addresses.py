"""Which addresses are public: every special-purpose block, its edges, and the ways to write one inside another."""

from ipaddress import ip_address

import pytest

from anex.core import addresses

INNER = """
0.0.0.0 0.1.2.3 10.0.0.0 10.255.255.255 100.64.0.0 100.100.100.200 100.127.255.255 127.0.0.1 127.255.255.255
168.63.129.16 169.254.0.0 169.254.169.254 169.254.170.2 169.254.255.255 172.16.0.0 172.31.255.255 192.0.0.1
192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.0 192.168.255.255 198.18.0.0 198.19.255.255 198.51.100.7 203.0.113.9
224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
:: ::1 ::127.0.0.1 ::10.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:0:127.0.0.1
64:ff9b::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 64:ff9b:1::808:808 100::1 100:0:0:1::1
2001::1 2001:0:7f00:1::1 2001:2::1 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1::1 2002:a00:1::1 2002:808:808::1
3ffe::1 3fff::1 3fff:fff::1 5f00::1 4000::1 e000::1 fc00::1 fd00:ec2::254 fd20:ce::254 fdff::1 fe80::1 fe80::a9fe:a9fe
febf::1 fec0::1 feff::1 ff00::1 ff02::1 ff0e::1
"""
OUTER = """
1.0.0.1 8.8.8.8 9.255.255.255 11.0.0.0 93.184.216.34 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.1
168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.1 192.167.255.255
192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255
2000::1 2001:200::1 2001:4860:4860::8888 2003::1 2606:2800:220:1::1 2a00:1450::1 3ff0::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8
"""


@pytest.mark.parametrize("text", INNER.split())
def test_an_inner_address_is_not_public(text):
    assert not addresses.is_public(ip_address(text))


@pytest.mark.parametrize("text", OUTER.split())
def test_an_outer_address_is_public(text):
    assert addresses.is_public(ip_address(text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "127.1",
        "2130706433",
        "0177.0.0.1",
        "127.0.0.01",
        "0x7f.0.0.1",
        "0x7f000001",
        "127.0.0.1.",
        "fe80::1%eth0",
        "1.2.3.4.5",
        "[::1]",
        "::1/128",
        " 127.0.0.1",
        "１２７.0.0.1",
        "example.com",
    ],
)
def test_only_the_usual_spelling_is_an_address(text):
    assert addresses.parse(text) is None
