"""What a merge gets of a batch: one row a key, with its columns, whether it deletes, and its lineage."""

from collections.abc import Callable
from functools import cached_property

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from common.merge.alignment import Alignment


class Changes:
    """`frame` is made when Spark is to have them; `arrow` are the same rows in the driver, where it holds them."""

    def __init__(self, schema: T.StructType, make_frame: Callable[[], DataFrame], arrow: pa.Table | None) -> None:
        self.schema, self.arrow = schema, arrow
        self._make_frame = make_frame

    @cached_property
    def frame(self) -> DataFrame:
        return self._make_frame()

    def aligned(self, alignment: Alignment) -> "Changes":
        """The same changes under the names and in the types of the table."""
        arrow = None if self.arrow is None else alignment.arrow(self.arrow)
        return Changes(alignment.schema(self.schema), lambda: alignment.frame(self.frame), arrow)
