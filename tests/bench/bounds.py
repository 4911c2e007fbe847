"""The bounds that ours makes from a batch, written down for those who cannot: exact months, and ranges of time."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tests.bench.batches import Row

# As many ranges as the engine makes of a column.
SPANS = 64
HOUR = np.timedelta64(1, "h")


@dataclass(frozen=True)
class Bound:
    """What every row with a key of the batch fulfils."""

    months: Sequence[str]
    spans: Sequence[tuple[str, str]]

    def sql(self) -> str:
        """On the table as `t`; texts of hours hold nothing that would need quoting."""
        months = ", ".join(f"'{month}'" for month in self.months)
        times = " OR ".join(f"t.time BETWEEN '{first}' AND '{last}'" for first, last in self.spans)
        return f"t.month IN ({months}) AND ({times})"

    def meets(self, first: str, last: str) -> bool:
        """Whether a file with times from `first` to `last` may hold a key."""
        return any(start <= last and first <= end for start, end in self.spans)

    def to_iceberg(self) -> dict[str, object]:
        """In Iceberg's own JSON form of expressions."""
        months: dict[str, object] = {"type": "in", "term": "month", "values": list(self.months)}
        times = [both(at_least(first), at_most(last)) for first, last in self.spans]
        either = times[0]
        for each in times[1:]:
            either = {"type": "or", "left": either, "right": each}
        return both(months, either)


def at_least(time: str) -> dict[str, object]:
    return {"type": "gt-eq", "term": "time", "value": time}


def at_most(time: str) -> dict[str, object]:
    return {"type": "lt-eq", "term": "time", "value": time}


def both(left: dict[str, object], right: dict[str, object]) -> dict[str, object]:
    return {"type": "and", "left": left, "right": right}


def bound_of(rows: Sequence[Row]) -> Bound:
    """Divided at the widest gaps; there is nothing between one hour and the next."""
    times = sorted({row.time for row in rows})
    return Bound(sorted({row.month for row in rows}), spans_of(times))


def exact_bound_of(rows: Sequence[Row]) -> Bound:
    """Each hour on its own: only files whose range holds the time of a key meet it."""
    return Bound(sorted({row.month for row in rows}), [(time, time) for time in sorted({row.time for row in rows})])


def spans_of(times: Sequence[str]) -> list[tuple[str, str]]:
    gaps = [
        (np.datetime64(after) - np.datetime64(before), place) for place, (before, after) in enumerate(pairwise(times))
    ]
    widest = sorted((gap for gap in gaps if gap[0] > HOUR), key=lambda gap: (-gap[0].astype(int), gap[1]))[: SPANS - 1]
    ends = sorted(place for _, place in widest)
    starts = [0, *(place + 1 for place in ends)]
    return [(times[start], times[end]) for start, end in zip(starts, [*ends, len(times) - 1], strict=True)]
