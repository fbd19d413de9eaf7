"""Which addresses are out in the public internet: the only ones a customer's URL may lead us to.

The tables are ours and explicit (IANA's special-purpose registries, multicast, metadata services): what `ipaddress`
calls global differs between versions of Python and lets tunnels into private networks pass.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address

_REFUSED_V4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this host
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # Azure's own services, on an address that looks public
        "169.254.0.0/16",  # link-local, metadata services
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
# Everything outside is unassigned, private, link-local, site-local, multicast or a translation.
_GLOBAL_V6 = IPv6Network("2000::/3")
_REFUSED_V6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: leads to whatever IPv4 address it names
        "3ffe::/16",  # 6bone, given back
        "3fff::/20",  # documentation
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")


def is_public(address: Address) -> bool:
    """Whether the address belongs to the public internet; one that carries an IPv4 address is judged by that one.

    Obsolete tunnels (6to4, Teredo, IPv4-compatible) are refused whatever they carry.
    """
    carried = _carried(address)
    if isinstance(carried, IPv4Address):
        return not any(carried in network for network in _REFUSED_V4)
    return carried in _GLOBAL_V6 and not any(carried in network for network in _REFUSED_V6)


def parse(text: str) -> Address | None:
    """The address in its usual spelling, None for anything else (octal, hexadecimal, short or scoped spellings)."""
    try:
        return None if "%" in text else ip_address(text)
    except ValueError:
        return None


def _carried(address: Address) -> Address:
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address
