"""Durations as people write them: `90s`, `30m`, `12h`, `5d`."""

import re

PATTERN = re.compile(r"(?P<number>[1-9][0-9]*)(?P<unit>[smhd])")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def duration(text: str) -> str:
    """Return the text itself, if it is a duration."""
    seconds(text)
    return text


def seconds(text: str) -> int:
    """Return the length of a duration."""
    match = PATTERN.fullmatch(text)
    if match is None:
        raise ValueError(f"'{text}' is not a duration; use 90s, 30m, 12h or 5d")
    return int(match["number"]) * SECONDS[match["unit"]]
