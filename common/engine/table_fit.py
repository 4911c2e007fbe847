"""Keep a table fit for its pipeline: compared at each start, and again whenever its metadata have changed."""

from collections.abc import Sequence

import structlog
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from common.delta.lineage import ensure_lineage
from common.delta.log import Commits
from common.engine.declared import declared_schema
from common.engine.schema_comparison import CONSTRAINT_RULE, NEW_TABLE, Difference, TableShape, compare, table_rules
from common.engine.table_keys import TableKeys
from common.errors import SchemaMismatch, TryLater, first_line
from common.settings.locations import Location
from common.settings.pipeline import Pipeline
from common.settings.quality import Rule
from common.settings.remedies import alter, create
from common.spark.sql_text import quoted

log = structlog.get_logger()


class TableFit:
    """A pipeline and its table. `pipeline` has the rules of the table besides its own."""

    def __init__(self, spark: SparkSession, pipeline: Pipeline, table: Location) -> None:
        self._declared, self._table = pipeline, table
        self._columns = declared_schema(spark, pipeline)
        self._keys = TableKeys(spark, pipeline, table)
        self._metadata = metadata_of(spark, table)
        self.differences = self._compared(self._metadata)
        self._keys.check()
        self.pipeline = self._with_rules(spark, self._metadata)

    @property
    def pending(self) -> list[str]:
        """The clauses of ALTER TABLE that the pipeline's policy lets the job run before its first batch."""
        return [clause for each in self.differences if each.applies for clause in each.clauses]

    def apply(self, spark: SparkSession) -> None:
        """Alter the table, each step in a commit of its own. The caller holds the commit lock."""
        for clause in unique(self.pending):
            alter_table(spark, self._table, clause)
        ensure_lineage(spark, self._table.uri, self._declared)
        self._keys.record()
        # Compared once more: somebody else may have altered the table since it was compared.
        self._metadata = metadata_of(spark, self._table)
        self.differences = self._compared(self._metadata)
        self._refuse_other_rules(spark)

    def ensure(self, spark: SparkSession, metadata: str) -> None:
        """Compare again where the table's metadata have changed since. The caller holds the commit lock."""
        if metadata != self._metadata:
            self.differences = self._compared(metadata)
            self.apply(spark)

    def _refuse_other_rules(self, spark: SparkSession) -> None:
        """What this job has read was judged by the rules that the table had when it began."""
        if self._with_rules(spark, self._metadata) != self.pipeline:
            raise TryLater(
                f"the rules of {self._table} have changed while this job ran",
                "start it again: it goes on from the table, by the new rules",
            )

    def _compared(self, metadata: str) -> list[Difference]:
        found = compare(self._declared, self._columns, TableShape.parse(metadata))
        refuse_unfit(found, self._declared, self._table)
        return found

    def _with_rules(self, spark: SparkSession, metadata: str) -> Pipeline:
        pipeline, rules = self._declared, table_rules(self._declared, TableShape.parse(metadata))
        if not rules:
            return pipeline
        refuse_unknown_columns(spark.createDataFrame([], self._columns), rules, pipeline, self._table)
        quality = pipeline.quality.model_copy(update={"rules": [*pipeline.quality.rules, *rules]})
        return pipeline.model_copy(update={"quality": quality})


def refuse_unfit(found: Sequence[Difference], pipeline: Pipeline, table: Location) -> None:
    stopping = [each for each in found if each.stops]
    for first in stopping[:1]:
        more = f", and {len(stopping) - 1} more" if len(stopping) > 1 else ""
        remedy = first.edit or alter(str(table), *first.clauses)
        if remedy == NEW_TABLE:
            remedy = f"go on with a table that fits: {create(pipeline.name, f'{table}_new')}"
        raise SchemaMismatch(f"{table} does not fit pipeline '{pipeline.name}': {first.what}{more}", remedy)


def refuse_unknown_columns(nothing: DataFrame, rules: Sequence[Rule], pipeline: Pipeline, table: Location) -> None:
    """A rule about a column that no event has would fail a batch, and no record could be blamed for it."""
    for rule in rules:
        try:
            nothing.select(F.expr(rule.check))
        except AnalysisException as error:
            name = rule.name.removeprefix(CONSTRAINT_RULE)
            remedy = alter(str(table), f"DROP CONSTRAINT {quoted(name)}")
            raise SchemaMismatch(
                f"{table}: its rule {rule.check} is about columns that pipeline '{pipeline.name}' does not declare",
                remedy if rule.name.startswith(CONSTRAINT_RULE) else f"declare them (the rule is {rule.name})",
            ) from error


def alter_table(spark: SparkSession, table: Location, clause: str) -> None:
    """Run one clause of ALTER TABLE, in a commit of its own."""
    try:
        spark.sql(f"ALTER TABLE delta.{quoted(table.uri)} {clause}")
    except PySparkException as error:
        raise SchemaMismatch(f"{table} cannot be altered by {clause}: {first_line(error)}", "correct it") from error
    log.info("altered the table", table=str(table), clause=clause)


def metadata_of(spark: SparkSession, table: Location) -> str:
    return Commits(spark, table.uri).metadata()


def unique(clauses: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(clauses))
