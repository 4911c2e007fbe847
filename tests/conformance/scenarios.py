"""Scenarios that every strategy must settle alike: a table, what is special about it, and batches of events."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import SparkSession

from common.settings.pipeline import Pipeline
from tests.support.frames import frame
from tests.support.trial import pipeline

NAN, INFINITY = float("nan"), float("inf")
NOON = datetime(2024, 5, 1, 12, 0, 0, 999_999, tzinfo=UTC)
# Others read Spark's times of 96 bits as nanoseconds, which begin in 1677.
EARLY = datetime(1700, 1, 2, tzinfo=UTC)
DELETE = "deleted"
# One event: its values in the order of the columns, or a key with DELETE.
Event = tuple[Any, ...]


@dataclass(frozen=True)
class Scenario:
    """Rows that stand in the table, and events by batch. `columns` are Spark's types by name."""

    columns: dict[str, str]
    rows: Sequence[Event]
    batches: Sequence[Sequence[Event]]
    target: dict[str, Any] = field(default_factory=dict)
    null_value: str = "quarantine"
    # Done to the table before the first batch: a statement with the table's name as {}.
    statements: Sequence[str] = ()
    # Types that columns have when the table is created, where a statement widens them later.
    created_as: dict[str, str] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    # Whether delta-rs can read such a table.
    is_read_by_others: bool = True
    # Strategies that decline it, by their names.
    declined_by: Sequence[str] = ()

    def pipeline(self) -> Pipeline:
        source = {"columns": self.columns, "null_value": self.null_value}
        target = {"keys": ["id"], "partition_by": []} | self.target
        return pipeline("t", source=source, target=target)

    def create(self, spark: SparkSession, path: str) -> None:
        """One file for each half of the rows, so that most batches have a candidate and a file that is none."""
        ddl = ", ".join(f"`{name}` {kind}" for name, kind in (self.columns | self.created_as).items())
        partitions = self.target.get("partition_by", [])
        divided = f" PARTITIONED BY ({', '.join(partitions)})" if partitions else ""
        told = ", ".join(f"'{name}' = '{value}'" for name, value in self.properties.items())
        with_properties = f" TBLPROPERTIES ({told})" if told else ""
        spark.sql(f"CREATE TABLE delta.`{path}` ({ddl}) USING delta{divided}{with_properties}")
        half = len(self.rows) // 2
        for rows in (self.rows[:half], self.rows[half:]):
            if rows:
                written = frame(spark, rows, ddl).coalesce(1)
                written.write.format("delta").mode("append").save(path)
        for statement in self.statements:
            spark.sql(statement.format(f"delta.`{path}`"))


THREE = {"id": "bigint", "part": "string", "value": "string"}
NESTED = {
    "id": "bigint",
    "tags": "array<string>",
    "prices": "map<string, decimal(6,2)>",
    "lines": "array<struct<sku: string, days: array<date>>>",
}
BASE = [(n, "ab"[n % 2], f"old {n}") for n in range(8)]
UPSERTS = [[(1, "b", "new"), (20, "c", "new"), (1, "b", "newest"), (6, "a", None)], [(20, "c", "again"), (7, "b", "x")]]


def keyed(kind: str, values: Sequence[Any]) -> Scenario:
    """Keys of a kind: every other value stands in the table; all of them come, and one comes twice.

    Not every kind can be pruned by, and without bounds there are no candidates: a second key has one value.
    """
    columns = {"id": kind, "n": "bigint", "value": "string"}
    events = [(value, 1, f"new {number}") for number, value in enumerate(values)]
    rows = [(value, 1, "old") for value in values[::2]]
    return Scenario(columns, rows, [[*events, (*events[0][:2], "twice")]], {"keys": ["id", "n"]})


def ordered(kind: str, values: Sequence[Any]) -> Scenario:
    """Every value of a kind against every other: the row's, then the event's."""
    columns = {"id": "bigint", "part": "string", "value": kind}
    pairs = [(old, new) for old in values for new in values if new is not None]
    rows = [(number, "a", old) for number, (old, _) in enumerate(pairs)]
    events = [(number, "b", new) for number, (_, new) in enumerate(pairs)]
    return Scenario(columns, rows, [events], {"sequence": "value"})


def upserts(**more: Any) -> Scenario:
    return Scenario(THREE, BASE, UPSERTS, **more)


ADD_LINEAGE = (
    "ALTER TABLE {} ADD COLUMNS "
    "(_alluvium struct<topic:string,topic_id:string,partition:int,offset:bigint,epoch:int,seq:bigint>)"
)
GIVE_LINEAGE = (
    "UPDATE {} SET _alluvium = named_struct('topic', 't', 'topic_id', 'x', 'partition', 0, 'offset', 1L, 'epoch', 1, "
    "'seq', 1L)"
)
DELETES = [[(1, DELETE), (3, DELETE), (77, DELETE), (2, "a", "new"), (5, "b", "x"), (5, DELETE)], [(1, "b", "back")]]
MAPPED = {"delta.columnMapping.mode": "name", "delta.minReaderVersion": "2", "delta.minWriterVersion": "5"}
SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "a bigint key": lambda: keyed("bigint", [0, -1, 2**62, 5, -(2**63)]),
    "a double key": lambda: keyed("double", [0.0, 1e300, NAN, INFINITY, -1.5, -INFINITY]),
    "a decimal key": lambda: keyed("decimal(38,18)", [Decimal(0), Decimal("1.5"), Decimal("-12345678901234567890.1")]),
    "a date key": lambda: keyed("date", [date(1, 1, 1), date(1500, 2, 1), date(1582, 10, 4), date(9999, 12, 31)]),
    "a timestamp key": lambda: keyed("timestamp", [NOON, EARLY, datetime(1969, 1, 1, tzinfo=UTC)]),
    "a string key": lambda: keyed("string", ["", "a", "\U0001f321" * 40, "a" * 33, "b\\'\"`${env:HOME}", "é"]),
    "a boolean key": lambda: keyed("boolean", [True, False]),
    "nested columns": lambda: Scenario(
        NESTED,
        [(n, ["é", None], {"k": Decimal("1.50")}, [("s", [date(2023, 1, 5), None]), None]) for n in range(4)],
        [[(1, [], {}, []), (9, None, {"": None}, [(None, None)]), (1, ["x"], None, None)], [(9, ["y"], {}, None)]],
    ),
    "two keys": lambda: upserts(target={"keys": ["id", "part"]}),
    "ordered by a double": lambda: ordered("double", [None, 0.0, -0.0, 1e300, NAN, -INFINITY]),
    "ordered by a timestamp": lambda: ordered(
        "timestamp", [None, NOON, EARLY, datetime(1883, 11, 18, 12, 3, 58, 1, UTC)]
    ),
    "ordered by a string": lambda: ordered("string", [None, "", "a", "é", "\U0001f321"]),
    "by position, with nulls and duplicates": upserts,
    "deletes of something and of nothing": lambda: Scenario(THREE, BASE, DELETES, null_value="delete"),
    "partitions with and without rows": lambda: upserts(target={"partition_by": ["part"], "immutable": ["part"]}),
    "a null partition": lambda: Scenario(
        THREE, [(1, None, "x"), (2, "a", "y")], [[(1, None, "new"), (3, None, "z")]], {"partition_by": ["part"]}
    ),
    "deletes that empty a partition": lambda: Scenario(
        THREE, BASE, [[(n, DELETE) for n in range(0, 8, 2)]], {"partition_by": ["part"]}, "delete"
    ),
    "lineage": lambda: upserts(target={"lineage": True}, statements=(ADD_LINEAGE,)),
    "lineage given up": lambda: upserts(statements=(ADD_LINEAGE, GIVE_LINEAGE)),
    "an empty table": lambda: Scenario(THREE, [], UPSERTS),
    "nothing that is newer": lambda: Scenario(
        THREE, BASE, [[(1, "b", "a"), (2, "a", "b")], [(1, "b", "zz")]], {"sequence": "value"}
    ),
    "files without statistics": lambda: upserts(properties={"delta.dataSkippingNumIndexedCols": "0"}),
    "a change feed": lambda: upserts(properties={"delta.enableChangeDataFeed": "true"}, declined_by=("Spark rewrite",)),
    "a change feed, deletes and partitions": lambda: Scenario(
        THREE,
        BASE,
        DELETES,
        {"partition_by": ["part"]},
        "delete",
        properties={"delta.enableChangeDataFeed": "true"},
        declined_by=("Spark rewrite",),
    ),
    "deletion vectors that no candidate has": lambda: upserts(
        properties={"delta.enableDeletionVectors": "true"},
        is_read_by_others=False,
    ),
    "a candidate with a deletion vector": lambda: upserts(
        properties={"delta.enableDeletionVectors": "true"},
        is_read_by_others=False,
        statements=("DELETE FROM {} WHERE id = 3",),
        declined_by=("driver rewrite", "Spark rewrite"),
    ),
    "a widened column": lambda: Scenario(
        {"id": "bigint", "part": "string", "value": "bigint"},
        [(n, "ab"[n % 2], n) for n in range(8)],
        [[(1, "b", 2**40), (9, "b", 1)], [(2, "a", 5)]],
        properties={"delta.enableTypeWidening": "true"},
        statements=("ALTER TABLE {} ALTER COLUMN value TYPE bigint",),
        created_as={"value": "int"},
        is_read_by_others=False,
    ),
    "columns mapped by name": lambda: upserts(properties=MAPPED, is_read_by_others=False),
    "a renamed column and a partition, mapped by name": lambda: upserts(
        target={"partition_by": ["part"]}, properties=MAPPED, is_read_by_others=False
    ),
    "a column that nobody declares, set to null": lambda: upserts(
        target={"schema_changes": {"undeclared": "null"}},
        statements=("ALTER TABLE {} ADD COLUMNS (more string)", "UPDATE {} SET more = 'm'"),
    ),
    "a column that nobody declares, kept": lambda: upserts(
        target={"schema_changes": {"undeclared": "keep"}},
        statements=("ALTER TABLE {} ADD COLUMNS (more string)", "UPDATE {} SET more = 'm'"),
    ),
}
