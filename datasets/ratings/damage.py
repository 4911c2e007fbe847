"""Damage that can happen to a message's bytes on their way."""

from typing import Literal, get_args

Damage = Literal["magic", "short", "cut", "trailing", "unknown"]
DAMAGES: tuple[Damage, ...] = get_args(Damage)
# The greatest id that four bytes hold as a signed number; no registry has come so far.
UNKNOWN_ID = (2**31 - 1).to_bytes(4)


def damaged(value: bytes, damage: Damage) -> bytes:
    """Return the value with another first byte, with most of its header missing, cut, too long, or with another id."""
    changed = {
        "magic": b"\x01" + value[1:],
        "short": value[:3],
        "cut": value[:-2],
        "trailing": value + b"\x00\x02",
        "unknown": value[:1] + UNKNOWN_ID + value[5:],
    }
    return changed[damage]
