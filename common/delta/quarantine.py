"""The quarantine of one pipeline and table, and the state of each row in it.

A replay first claims its rows, with its number and the state that it will give them. Then it commits to the table under
that number. Then the claim becomes the state. After a kill in between, the table's log decides: a claim whose replay
was committed counts as the state, any other counts as nothing.
"""

from dataclasses import dataclass

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from common.delta.ledger import Ledger
from common.delta.side_tables import QUARANTINE_TABLE, REPLAY_COLUMNS, WAITING, is_own, is_provisional
from common.model.merge_spec import LINEAGE
from common.settings.locations import Location, side_table
from common.spark.validate.timestamps import readable

REPLAYED = "replayed"
FOLDED = "folded"
SUPERSEDED = "superseded"
LATE = "late"
SKIPPED = "skipped"
DISCARDED = "discarded"
STATES = (WAITING, REPLAYED, FOLDED, SUPERSEDED, LATE, SKIPPED, DISCARDED)
IDENTITY = ("epoch", "seq", "partition", "offset")
# Columns that a quarantine of an older version of Alluvium does not have.
LATER_COLUMNS = {**REPLAY_COLUMNS, "topic_id": "string"}


@dataclass(frozen=True)
class Selection:
    """Filters for rows of the quarantine. A filter that is None does not count."""

    reason: str | None = None
    state: str | None = None
    partition: int | None = None
    offsets: tuple[int, int] | None = None

    def condition(self) -> Column:
        condition = F.lit(True)  # noqa: FBT003
        for name in ("reason", "state", "partition"):
            if (value := getattr(self, name)) is not None:
                condition = condition & (F.col(name) == value)
        return condition if self.offsets is None else condition & F.col("offset").between(*self.offsets)

    def as_options(self) -> str:
        """Write the selection as the options of the command line."""
        offsets = None if self.offsets is None else "-".join(str(offset) for offset in sorted(set(self.offsets)))
        options = {"--reason": self.reason, "--state": self.state, "--partition": self.partition, "--offset": offsets}
        return " ".join(f"{name} {value}" for name, value in options.items() if value is not None)


def quarantine_path(table: Location) -> Location:
    return side_table(table, QUARANTINE_TABLE)


class Quarantine:
    """The quarantined rows of one pipeline and table whose transaction was committed."""

    def __init__(self, spark: SparkSession, table: Location, ledger: Ledger) -> None:
        self._spark = spark
        self._ledger = ledger
        self._path = quarantine_path(table).uri

    def rows(self) -> DataFrame:
        """Return the rows with the state that counts, even where a replay was killed before it wrote the state."""
        stored = self._table.toDF()
        rows = stored.withColumns(missing_columns(stored)).where(self._is_ours())
        state = F.when(self._is_done(), F.col("claim")).otherwise(F.col("state"))
        return rows.withColumns({"state": state, "timestamp": readable(F.col("timestamp"))})

    def of_other_tables(self) -> int:
        """Count the rows of an earlier table at this path. They do not count now, because its topic was read anew."""
        return self._table.toDF().where(F.col("table_id") != self._ledger.table_id()).count()

    def claim(self, rows: DataFrame, state: Column, replay: int) -> None:
        """Claim rows, which have their lineage: each gets `state` as soon as the table has committed this replay."""
        claimed = rows.select(*(F.col(f"{LINEAGE}.{name}").alias(name) for name in IDENTITY), state.alias("claim"))
        same = F.expr(" AND ".join(f"q.{name} = s.{name}" for name in IDENTITY))
        of_table = F.col("q.table_id") == self._ledger.table_id()
        ours = (F.col("q.pipeline") == self._ledger.pipeline) & of_table
        (
            self._table.alias("q")
            .merge(claimed.alias("s"), same & ours)
            .whenMatchedUpdate(set={"replay": F.lit(replay), "claim": "s.claim"})
            .execute()
        )

    def settle_claims(self) -> None:
        """Turn claims into states where their replay was committed, and drop them where it was not."""
        self._evolve()
        claimed = self._is_ours() & F.col("claim").isNotNull()
        if self._table.toDF().where(claimed).isEmpty():
            return
        done = self._is_done()
        self._table.update(
            claimed,
            {
                "state": F.when(done, F.col("claim")).otherwise(F.col("state")),
                "changed": F.when(done, F.current_timestamp()).otherwise(F.col("changed")),
                "replay": F.when(done, F.col("replay")),
                "claim": F.lit(None).cast("string"),
            },
        )

    def discard(self, selection: Selection) -> None:
        """Mark rows as discarded. No byte is deleted: the rows stay, and no longer wait."""
        self._table.update(
            self._is_ours() & selection.condition(), {"state": F.lit(DISCARDED), "changed": F.current_timestamp()}
        )

    @property
    def _table(self) -> DeltaTable:
        """The side table in its newest version."""
        return DeltaTable.forPath(self._spark, self._path)

    def _is_ours(self) -> Column:
        return is_own(self._ledger) & ~is_provisional(self._ledger)

    def _is_done(self) -> Column:
        return F.col("claim").isNotNull() & (F.col("replay") <= self._ledger.replays())

    def _evolve(self) -> None:
        stored = self._table.toDF()
        if missing := missing_columns(stored):
            nothing = stored.limit(0).withColumns(missing)
            nothing.write.format("delta").mode("append").option("mergeSchema", "true").save(self._path)


def missing_columns(stored: DataFrame) -> dict[str, Column]:
    return {name: F.lit(None).cast(kind) for name, kind in LATER_COLUMNS.items() if name not in stored.columns}
