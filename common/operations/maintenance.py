"""Maintain a table and its side tables. The plan is printed first, and carried out only with --execute."""

from pyspark.sql import SparkSession

from common.delta.checkpoint import write_checkpoint
from common.delta.open_ledger import open_ledger
from common.delta.table_family import tables_of
from common.engine.disk_full import space_needed
from common.engine.start import Inputs
from common.kafka.retention_watch import format_duration
from common.operations.compaction import Chunk, Compacted, CompactionPlan, Scope, compact, plan_compaction
from common.operations.purge import DeletedKeys, needed_seconds
from common.operations.retention import Retention
from common.operations.vacuum import existing, own_retention_hours, plan_vacuum, refuse, vacuum
from common.present.console import NOTHING_CHANGED
from common.settings.locations import Location


def compact_tables(spark: SparkSession, table: Location, scope: Scope, *, execute: bool) -> None:
    plans = [(each, plan_compaction(spark, each, scope)) for each in tables_of(spark, table)]
    for each, plan in plans:
        for line in plan_lines(each, plan):
            print(line)
    if not execute:
        print(NOTHING_CHANGED)
        return
    for each, plan in plans:
        with space_needed(each):
            for number, done in enumerate(compact(spark, each, table, plan.chunks, scope), start=1):
                print(f"[{number}/{len(plan.chunks)}] {compacted_line(each, done)}", flush=True)


def plan_lines(table: Location, plan: CompactionPlan) -> list[str]:
    lines = [f"{table}: {summary(plan.chunks) if plan.chunks else 'nothing to compact'}"]
    lines += [f"  {chunk}" for chunk in plan.chunks]
    if plan.open:
        lines.append(f"  left out: {plan.open} still written to (--all includes them)")
    return lines


def summary(chunks: list[Chunk]) -> str:
    before, after = sum(chunk.files for chunk in chunks), sum(chunk.files_after for chunk in chunks)
    size = sum(chunk.bytes for chunk in chunks)
    return f"{before} files, {size} bytes, in {len(chunks)} chunks; {after} files afterwards"


def compacted_line(table: Location, done: Compacted) -> str:
    if not done.removed:
        return f"{table}: {done.chunk.name}: nothing was left to do, or others kept changing it"
    return f"{table}: {done.chunk.name}: {done.removed} files into {done.added}, {done.seconds:.1f} s"


def vacuum_tables(
    spark: SparkSession, table: Location, wanted_hours: int | None, forced: frozenset[str], *, execute: bool
) -> None:
    retentions = {
        each: Retention(own_retention_hours(spark, each), wanted_hours, forced | implied(each, table, forced))
        for each in tables_of(spark, table)
    }
    for each, retention in retentions.items():
        refuse(spark, each, retention)
    for each, retention in retentions.items():
        unneeded = plan_vacuum(spark, each, retention)
        kept = f"everything of the last {retention.hours} hours is kept"
        print(f"{each}: {unneeded.files} files, {unneeded.bytes} bytes are no longer needed; {kept}", flush=True)
        if execute and unneeded.files:
            vacuum(spark, each, table, retention)
            left = existing(spark, each, unneeded.sizes)
            print(
                f"{each}: {unneeded.files - left.files} files, {unneeded.bytes - left.bytes} bytes deleted", flush=True
            )
    if not execute:
        print(NOTHING_CHANGED)


def implied(each: Location, table: Location, forced: frozenset[str]) -> frozenset[str]:
    """Return the names that are forced too: to force a table is to force its side tables."""
    return frozenset({each.name}) if table.name in forced else frozenset()


def checkpoint_tables(spark: SparkSession, table: Location) -> None:
    for each in tables_of(spark, table):
        written = write_checkpoint(spark, each, table)
        how = "has one already" if written.seconds is None else f"written in {written.seconds:.1f} s"
        print(f"{each}: checkpoint of version {written.version} {how}", flush=True)


def purge_deleted_keys(spark: SparkSession, given: Inputs, *, execute: bool) -> None:
    ledger = open_ledger(spark, given.table.uri, given.pipeline.name)
    age = max(needed_seconds(given.topic.settings(name), given.pipeline) for name in given.topic.names)
    keys = DeletedKeys(spark, given.table, ledger)
    memory = keys.memory(age)
    if memory is None:
        print(f"Nothing was ever deleted from {given.table}: there is nothing to forget")
        return
    kept = "for good: the topic forgets nothing" if age == float("inf") else f"for {format_duration(int(age * 1000))}"
    print(f"{memory.unneeded} of {memory.remembered} remembered deletes are no longer needed; they are kept {kept}")
    if not execute:
        print(NOTHING_CHANGED)
    elif memory.unneeded:
        keys.purge(age)
        print("Done.")
