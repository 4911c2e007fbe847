"""The contenders by name."""

from collections.abc import Callable

from tests.bench.cells import FEED
from tests.bench.contenders import Contender
from tests.bench.delta_rs import DeltaRs
from tests.bench.engine import Ours, OursWithFeed
from tests.bench.iceberg import IcebergMerge
from tests.bench.merges import Append, PlainMerge

MAKERS: dict[str, Callable[[], Contender]] = {
    "ours-batch": lambda: Ours("batch"),
    "ours-stream": lambda: Ours("stream"),
    FEED: OursWithFeed,
    "stock": lambda: PlainMerge("stock", is_tuned=False, is_bounded=False),
    "tuned": lambda: PlainMerge("tuned", is_tuned=True, is_bounded=False),
    "tuned-bounds": lambda: PlainMerge("tuned-bounds", is_tuned=True, is_bounded=True),
    "delta-rs": lambda: DeltaRs("delta-rs", is_bounded=False),
    "delta-rs-bounds": lambda: DeltaRs("delta-rs-bounds", is_bounded=True),
    "iceberg-cow": lambda: IcebergMerge("iceberg-cow", "copy-on-write", is_bounded=False),
    "iceberg-cow-bounds": lambda: IcebergMerge("iceberg-cow-bounds", "copy-on-write", is_bounded=True),
    "iceberg-mor": lambda: IcebergMerge("iceberg-mor", "merge-on-read", is_bounded=False),
    "iceberg-mor-bounds": lambda: IcebergMerge("iceberg-mor-bounds", "merge-on-read", is_bounded=True),
    "append": Append,
}


def new_contender(name: str) -> Contender:
    return MAKERS[name]()
