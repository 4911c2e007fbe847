"""What a merge gets of a batch: one row a key, with its columns, whether it deletes, and its lineage."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T


@dataclass(frozen=True)
class Changes:
    """`frame` is made when Spark is to have them; `arrow` are the same rows in the driver, where it holds them."""

    schema: T.StructType
    make_frame: Callable[[], DataFrame]
    arrow: pa.Table | None

    @cached_property
    def frame(self) -> DataFrame:
        return self.make_frame()
