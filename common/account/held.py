"""The accounts of a few rows, which this process holds itself: the same questions, without a query."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from common.account.tally import PartitionTally
from common.arrow import comparable, is_greater, with_same_bits
from common.ask import Answer
from common.divide.fate import FATE, FATES, FOLDED, MERGE
from common.read.kafka import RECORD
from common.settings.pipeline import POSITION, Pipeline

# Whether a row's fate is not its own, as `is_misrouted` says: a column that goes with rows to be held.
MISROUTED = "_misrouted"


def tally_held(rows: pa.Table) -> dict[int, PartitionTally]:
    """Of each partition of the topic."""
    partitions: dict[int, list[tuple[int, str | None, bool | None]]] = {}
    fates, wrong = rows[FATE].to_pylist(), rows[MISROUTED].to_pylist()
    places = zip(field_of(rows, "partition"), field_of(rows, "offset"), strict=True)
    for (partition, offset), fate, is_wrong in zip(places, fates, wrong, strict=True):
        partitions.setdefault(partition, []).append((offset, fate, is_wrong))
    return {partition: tally_of_one(found) for partition, found in partitions.items()}


def tally_of_one(rows: Sequence[tuple[int, str | None, bool | None]]) -> PartitionTally:
    offsets, fates, wrong = zip(*rows, strict=True)
    return PartitionTally(
        rows=len(rows),
        offsets=len(set(offsets)),
        first=min(offsets),
        last=max(offsets),
        misrouted=wrong.count(True),
        fates={fate: fates.count(fate) for fate in FATES},
    )


def unclear_held(rows: pa.Table, pipeline: Pipeline) -> list[Answer]:
    """A key of which not just one row is to be merged, the newest: the first of them, if there is any."""
    keys, sequence = pipeline.target.keys, pipeline.target.sequence
    rivals = rows.filter(pc.is_in(rows[FATE], pa.array([MERGE, FOLDED])))
    ages = field_of(rivals, "offset") if sequence == POSITION else comparable(rivals[sequence])
    same = zip(*(comparable(with_same_bits(rivals[key])) for key in keys), strict=True)
    of_key: dict[tuple[Any, ...], list[int]] = {}
    for place, key in enumerate(same):
        of_key.setdefault(key, []).append(place)
    fates, partitions = rivals[FATE].to_pylist(), field_of(rivals, "partition")
    for places in of_key.values():
        merged = [place for place in places if fates[place] == MERGE]
        found = {
            "_rows": len(places),
            "_merged": len(merged),
            "_least": min(partitions[place] for place in places),
            "_greatest": max(partitions[place] for place in places),
        }
        is_older = any(is_greater(ages[place], ages[newest]) for newest in merged for place in places)
        is_split = sequence == POSITION and found["_least"] < found["_greatest"]
        if len(merged) != 1 or is_older or is_split:
            return [{key: spoken(rivals[key][places[0]]) for key in keys} | found]
    return []


def spoken(value: pa.Scalar) -> Any:
    """Python knows fewer years than Spark."""
    return str(value.cast(pa.string())) if pa.types.is_temporal(value.type) else value.as_py()


def field_of(rows: pa.Table, name: str) -> list[Any]:
    """Of the record itself."""
    return list(pc.struct_field(rows[RECORD], name).to_pylist())
