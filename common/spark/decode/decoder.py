"""The interface of every decoder, whatever the bytes are."""

from collections.abc import Callable, Sequence
from typing import Protocol

from pyspark.sql import DataFrame

from common.spark.validate.rejection import Rejection


class Decoder(Protocol):
    """Turns a record's value into an event's columns, or knows the reason why it cannot."""

    def with_event(self, records: DataFrame) -> DataFrame:
        """Add the declared columns. What could not be decoded is null in them, and has a rejection."""

    def temporary_columns(self) -> list[str]:
        """Return the columns that only the rejections need."""

    def rejections(self) -> list[Rejection]:
        """Return the rejections in the order in which a reader of the bytes would notice."""

    def key_rejections(self, keys: Sequence[str]) -> list[Rejection]:
        """Return the rejections for a message key in the value's place, which has the columns of the key only."""

    def with_schemas_seen_in(self, classified: Callable[[], DataFrame]) -> "Decoder | None":
        """Return a decoder that knows the schemas that this one missed in the rows it classified; None without any."""
