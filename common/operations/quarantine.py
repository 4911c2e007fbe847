"""Commands of an operator on the quarantine. The plan is printed first, and carried out only with --execute."""

import re
import time
from dataclasses import dataclass, replace
from typing import NoReturn

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from common.delta.lock import commit_lock
from common.delta.open_ledger import open_ledger
from common.delta.quarantine import STATES, Quarantine, Selection, quarantine_path
from common.delta.side_tables import WAITING
from common.engine.commit import CONFLICTS
from common.engine.table_fit import TableFit
from common.errors import TryLater, UsageError
from common.model.limits import DEFAULT_LIMITS, Limits
from common.operations.replay import Replayer, ReplayPlan
from common.present.console import NOTHING_CHANGED
from common.settings.load import read_pipeline
from common.settings.locations import Location, is_delta_table, location, require_delta_table
from common.settings.pipeline import Pipeline, nearest
from common.settings.remedies import command, tell
from common.spark.decode.factory import decoder_of
from common.spark.expressions import check_expressions

LIST = "submit/quarantine.sh list --pipeline PIPELINE DELTA_DIR"


@dataclass(frozen=True)
class QuarantineTarget:
    """A pipeline and its table; no broker is needed."""

    pipeline: Pipeline
    table: Location


def resolve_place(name: str, delta_dir: str) -> QuarantineTarget:
    table = location(delta_dir)
    tell(PIPELINE=name, DELTA_DIR=str(table))
    pipeline = read_pipeline(name)
    tell(TOPIC=pipeline.source.topic)
    require_delta_table(table)
    return QuarantineTarget(pipeline, table)


def see_list() -> str:
    return f"see what there is with {command(LIST)}"


def has_quarantine(place: QuarantineTarget, spark: SparkSession | None = None) -> bool:
    """True where there is a quarantine. Without Spark only a local file system can tell, and elsewhere it is True."""
    path = quarantine_path(place.table)
    if path.local is not None:
        return is_delta_table(path)
    return spark is None or DeltaTable.isDeltaTable(spark, path.uri)


def never_quarantined(place: QuarantineTarget) -> str:
    return f"Nothing was ever quarantined: there is no {quarantine_path(place.table)}"


def require_quarantine(place: QuarantineTarget, spark: SparkSession | None = None) -> None:
    if not has_quarantine(place, spark):
        raise UsageError(never_quarantined(place), "there is nothing to do")


def open_quarantine(spark: SparkSession, place: QuarantineTarget) -> Quarantine:
    require_quarantine(place, spark)
    return Quarantine(spark, place.table, open_ledger(spark, place.table.uri, place.pipeline.name))


def parse_offsets(text: str | None) -> tuple[int, int] | None:
    """Read an offset, `15`, or a range with both ends, `15-20`."""
    if text is None:
        return None
    match = re.fullmatch(r"(?P<first>\d+)(-(?P<last>\d+))?", text)
    if match is None or int(match["last"] or match["first"]) < int(match["first"]):
        raise UsageError(f"--offset '{text}' is not understood", "say one offset, 15, or a range with both ends, 15-20")
    return int(match["first"]), int(match["last"] or match["first"])


def selected_rows(quarantine: Quarantine, selection: Selection) -> tuple[DataFrame, int]:
    """Return the selected rows and their number. None is an error, because the operator expects some."""
    rows = quarantine.rows().where(selection.condition())
    count = rows.count()
    if count == 0:
        refuse_empty(quarantine, selection)
    return rows, count


def refuse_empty(quarantine: Quarantine, selection: Selection) -> NoReturn:
    """Refuse a selection without rows. A reason that no row has is likely misspelt."""
    reasons = sorted(row["reason"] for row in quarantine.rows().select("reason").distinct().collect())
    if selection.reason is not None and selection.reason not in reasons:
        raise UsageError(f"no row has reason '{selection.reason}'{nearest(selection.reason, reasons)}", see_list())
    options = selection.as_options()
    how = f"is selected by {options}" if options else "is in quarantine"
    raise UsageError(f"no row {how}", see_list())


def replay(
    spark: SparkSession, place: QuarantineTarget, selection: Selection, *, overwrite: bool, execute: bool
) -> None:
    """Print the plan, and merge only with `execute`."""
    check_expressions(spark, place.pipeline)
    require_quarantine(place, spark)
    ledger = open_ledger(spark, place.table.uri, place.pipeline.name)
    fit = TableFit(spark, place.pipeline, place.table)
    replayer = Replayer(spark, fit, place.table, ledger, decoder_of(spark, place.pipeline))
    if execute:
        with commit_lock(place.table):
            fit.apply(spark)
            replay_with_retries(replayer, place, selection, overwrite=overwrite)
    elif proposed(replayer, place, selection, overwrite=overwrite) is not None:
        print(NOTHING_CHANGED)


def replay_with_retries(
    replayer: Replayer,
    place: QuarantineTarget,
    selection: Selection,
    *,
    overwrite: bool,
    limits: Limits = DEFAULT_LIMITS,
) -> None:
    """Plan and carry out the replay, and plan anew where a writer without our lock was faster."""
    for attempt in range(1, limits.commit_attempts + 1):
        replayer.quarantine.settle_claims()
        plan = proposed(replayer, place, selection, overwrite=overwrite)
        try:
            if plan is not None:
                act(replayer, plan)
        except CONFLICTS as error:
            if attempt == limits.commit_attempts:
                raise TryLater("another writer was faster", "nothing was replayed; run it again") from error
            print("Another writer was faster; planned anew:")
            time.sleep(limits.pause_seconds(attempt))
        else:
            return


def proposed(
    replayer: Replayer, place: QuarantineTarget, selection: Selection, *, overwrite: bool
) -> ReplayPlan | None:
    """Print and return the plan; None where nothing waits, because a replay may be run again without an error."""
    rows = replayer.quarantine.rows().where(selection.condition())
    count = rows.count()
    if count == 0 and selection == Selection(state=WAITING):
        print("Nothing waits in quarantine.")
        return None
    if count == 0:
        refuse_empty(replayer.quarantine, selection)
    plan = replayer.plan(rows, count, overwrite=overwrite)
    print(f"Replay of {count} rows of pipeline '{place.pipeline.name}' into {place.table}:")
    for line in plan.lines():
        print(f"  {line}")
    return plan


def act(replayer: Replayer, plan: ReplayPlan) -> None:
    if not plan.settled:
        print("Nothing can be replayed; every row stays as it is.")
        return
    done = replayer.execute(plan)
    absent = f", {done.absent} had no row to delete" if done.absent else ""
    print(f"Done: {done.inserted} inserted, {done.updated} updated, {done.deleted} deleted{absent}.")


def discard(spark: SparkSession, place: QuarantineTarget, selection: Selection, *, execute: bool) -> None:
    """Print how many rows are selected, and mark them only with `execute`."""
    quarantine = open_quarantine(spark, place)
    if not execute:
        _, count = selected_rows(quarantine, selection)
        print(f"{count} rows would be marked as discarded; their bytes stay.")
        print(NOTHING_CHANGED)
        return
    with commit_lock(place.table):
        quarantine.settle_claims()
        _, count = selected_rows(quarantine, selection)
        quarantine.discard(selection)
    print(f"Done: {count} rows are marked as discarded; their bytes stay.")


def selection_of(reason: str | None, partition: int | None, offset: str | None, state: str | None) -> Selection:
    if state is not None and state not in STATES:
        raise UsageError(f"no state '{state}'{nearest(state, list(STATES))}", see_list())
    return replace(Selection(reason, state, partition), offsets=parse_offsets(offset))
