"""What every decoder can do, whatever the bytes are."""

from collections.abc import Callable, Sequence
from typing import Protocol

from pyspark.sql import DataFrame

from common.spark.validate.rejection import Rejection


class Decoder(Protocol):
    """Turns a record's value into an event's columns, and knows why where it cannot."""

    def with_event(self, records: DataFrame) -> DataFrame:
        """Adds the declared columns; what could not be decoded is null in them and has a verdict."""

    def temporary_columns(self) -> list[str]:
        """The columns that only the verdicts need."""

    def rejections(self) -> list[Rejection]:
        """In the order in which a reader of the bytes would notice."""

    def key_rejections(self, keys: Sequence[str]) -> list[Rejection]:
        """The same for a message key in the value's place, which has the columns of the key only."""

    def with_schemas_seen_in(self, judged: Callable[[], DataFrame]) -> "Decoder | None":
        """One that knows what this one did not know of the rows it has judged; None where it knew enough."""
