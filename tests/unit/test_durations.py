"""Durations as people write them."""

import pytest

from common.durations import duration, seconds


@pytest.mark.parametrize(("text", "length"), [("90s", 90), ("30m", 1800), ("12h", 43_200), ("5d", 432_000)])
def test_a_duration_is_a_number_and_its_unit(text: str, length: int) -> None:
    assert seconds(text) == length
    assert duration(text) == text


@pytest.mark.parametrize("text", ["", "s", "90", "0s", "-1h", "1.5h", "1 h", "1H", "1w", "90s ", "1h30m", "1٣s"])
def test_anything_else_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration; use 90s"):
        duration(text)
