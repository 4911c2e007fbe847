"""Settle one batch: read, decode, validate, deduplicate, account and merge, in one commit of rows and position."""

from dataclasses import asdict, dataclass

from common import stop
from common.delta.open_ledger import open_ledger
from common.engine.accounts import account
from common.engine.commit import Committed, PendingTransaction, commit
from common.engine.context import BatchContext
from common.engine.source import Source
from common.engine.stage_timer import StageTimer
from common.engine.validation import decode_batch, validate_batch
from common.faults import fault_point
from common.model.offsets import Plan
from common.model.position import Position
from common.spark.small_queries import small_query_conf


@dataclass(frozen=True)
class BatchResult:
    """The result of a batch, and the position after it."""

    position: Position
    planned: Plan
    dispositions: dict[str, int]
    gaps: int
    committed: Committed
    seconds: dict[str, float]

    @property
    def rows_read(self) -> int:
        return sum(self.dispositions.values())

    def figures(self) -> dict[str, int]:
        """Return the counts for a line of the log: rows by disposition, gaps, and rows to merge by action."""
        return {"rows": self.rows_read, **self.dispositions, "gaps": self.gaps, **asdict(self.committed.outcome)}


def run_batch(
    context: BatchContext, position: Position, planned: Plan, source: Source, times: StageTimer
) -> BatchResult:
    """Settle the planned records as the transaction after `position`.

    A request to stop ends the batch only as long as nothing of it is written.
    """
    fault_point("planned")
    stop.check()
    following = position.advanced(context.topic_ids, planned.end)
    with small_query_conf(source.spark, context.limits, planned.records):
        with times.stage("read"):
            rows = source.read(planned)
        with times.stage("decode"):
            events = decode_batch(context, rows)
        with times.stage("validate"):
            validated = validate_batch(context, planned, rows, events)
        fault_point("read")
        stop.check()
        with times.stage("deduplicate"):
            batch = validated.deduplicate()
        with times.stage("account"):
            accounts = account(context, planned, batch, position, following)
    fault_point("accounted")
    stop.check()
    ledger = open_ledger(source.spark, context.table.uri, context.pipeline.name)
    committed = commit(PendingTransaction(source.spark, context, ledger, position, following), accounts, times)
    fault_point("checked")
    with times.stage("copy"):
        ledger.copy(following)
    fault_point("copied")
    return BatchResult(following, planned, accounts.dispositions, accounts.gaps, committed, times.seconds())
