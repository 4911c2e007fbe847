"""Parameters of which `make test` tries the first, and `make test-long` the others."""

from collections.abc import Iterable
from typing import Any

import pytest


def first_each_time(values: Iterable[Any], count: int = 1) -> list[Any]:
    """The first `count` values, and the others marked as long: they differ from these in detail only."""
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=[pytest.mark.long] if n >= count else [])
        for n, value in enumerate(values)
    ]
