"""Commands of an operator on the position: choose offsets, print the plan, and act only with --execute."""

import re
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession

from common.delta.empty_commit import commit_empty
from common.delta.ledger import Ledger
from common.delta.lock import commit_lock
from common.delta.open_ledger import open_ledger, transaction
from common.durations import seconds
from common.engine.resume import refuse_other_topics
from common.engine.start import Inputs
from common.errors import UsageError
from common.kafka.topic import TopicClient
from common.model.offsets import Offsets, TopicPartition
from common.operations.adoption import refuse_foreign_table
from common.operations.epoch import Proposal, offsets_of_rows, propose_epoch, within
from common.operations.epoch_numbers import greatest_side_epoch
from common.present.console import NOTHING_CHANGED
from common.settings.remedies import command

# A function of the table's ledger and the topic. It returns the new offsets, and those they replace.
Choice = Callable[[Ledger, TopicClient], tuple[dict[TopicPartition, int], Offsets]]
# It prints only the plan, which shows for each partition where the topic begins and where the table is.
BEGINNING = "submit/rewind.sh --to-beginning --pipeline PIPELINE DELTA_DIR BROKERS TOPIC"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def act_on_epoch(spark: SparkSession, given: Inputs, at: str, *, adopt: bool, execute: bool) -> None:
    """Print the plan of a new epoch; act only with `execute`. `adopt` shares a table that another pipeline writes."""
    ledger = open_ledger(spark, given.table.uri, given.pipeline.name)
    refuse_foreign_table(spark, given.pipeline, given.table, ledger, adopt=adopt)
    act_on_proposal(spark, given, at_choice(at), execute=execute)


def act_on_proposal(spark: SparkSession, given: Inputs, choice: Choice, *, execute: bool) -> None:
    """Print the plan, and begin the epoch only with `execute`."""
    pipeline, table, topic = given.pipeline, given.table, given.topic
    ledger = open_ledger(spark, table.uri, pipeline.name)
    # The JVM of a killed job may still be in its commit. The position to replace is read when that is over.
    with commit_lock(table) if execute else nullcontext():
        offsets, before = choice(ledger, topic)
        side_epoch = greatest_side_epoch(spark, table.uri, pipeline.name)
        proposal = propose_epoch(ledger, topic.ids(), offsets=offsets, before=before, side_epoch=side_epoch)
        print(f"Epoch {proposal.position.epoch} of pipeline '{pipeline.name}' on topic '{','.join(topic.names)}':")
        for line in proposal.lines():
            print(f"  {line}")
        if execute:
            begin_epoch(spark, table.uri, proposal)
    print("Done; the next run goes on from there." if execute else NOTHING_CHANGED)


def begin_epoch(spark: SparkSession, table: str, proposal: Proposal) -> None:
    """Begin the epoch by an empty commit that carries the new position."""
    with transaction(spark, proposal.position):
        commit_empty(spark, table)
    open_ledger(spark, table, proposal.position.pipeline).copy(proposal.position)


def at_choice(at: str) -> Choice:
    """Return the choice for `table`, `beginning` or `end`, for when the log cannot say, or the topic has changed."""

    def choose(ledger: Ledger, topic: TopicClient) -> tuple[dict[TopicPartition, int], Offsets]:
        available = topic.available()
        if at == "table":
            return offsets_of_rows(ledger, topic.ids(), available)
        return dict(available.earliest if at == "beginning" else available.ends), {}

    return choose


def rewind_choice(*, to_time: str | None, to_offset: str | None, by: str | None, to_beginning: bool) -> Choice:
    """Return the choice for exactly one of the options. The table must have a position in this topic."""
    options = {"--to-time": to_time, "--to-offset": to_offset, "--by": by, "--to-beginning": to_beginning or None}
    given = [name for name, value in options.items() if value is not None]
    if len(given) != 1:
        raise UsageError(f"{len(given)} places to rewind to", f"say exactly one of {', '.join(options)}")
    named = {} if to_offset is None else parse_offsets(to_offset)
    since = moment(to_time, by)

    def choose(ledger: Ledger, topic: TopicClient) -> tuple[dict[TopicPartition, int], Offsets]:
        position, available = ledger.position(), topic.available()
        refuse_other_topics(position, topic.ids())
        if to_beginning:
            return dict(available.earliest), position.offsets
        if since is not None:
            return topic.at_time(int(since.timestamp() * 1000)), position.offsets
        wanted = {TopicPartition(topic.names[0], partition): offset for partition, offset in named.items()}
        refuse_several_topics(topic)
        chosen = within({**position.offsets, **wanted}, available)
        for where, offset in wanted.items():
            if chosen.get(where) != offset:
                raise UsageError(f"{where} has no offset {offset}", f"see where it begins with {command(BEGINNING)}")
        return chosen, position.offsets

    return choose


def refuse_several_topics(topic: TopicClient) -> None:
    """Refuse partition numbers for several topics, because a number belongs to one topic."""
    if len(topic.names) > 1:
        raise UsageError(
            f"--to-offset names partitions, and there are {len(topic.names)} topics",
            "rewind them together with --to-time, --by or --to-beginning",
        )


def moment(to_time: str | None, by: str | None) -> datetime | None:
    """Return the given time, or the time so long before now; not before 1970, which Kafka does not know."""
    if to_time is None and by is None:
        return None
    try:
        time = parse_time(to_time) if to_time is not None else datetime.now(UTC) - parse_duration(by or "")
    except OverflowError as error:
        raise UsageError(f"'{by}' goes back too far", "say --to-beginning") from error
    return max(time, EPOCH)


def parse_offsets(text: str) -> dict[int, int]:
    if re.fullmatch(r"\d+=\d+(,\d+=\d+)*", text) is None:
        raise UsageError(f"--to-offset '{text}' is not understood", "say partition=offset pairs, such as 0=15,1=20")
    return {int(partition): int(offset) for partition, offset in (pair.split("=") for pair in text.split(","))}


def parse_time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"--to-time '{text}' is not understood", "say 2023-01-31 or 2023-01-31T12:00") from error
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def parse_duration(text: str) -> timedelta:
    try:
        return timedelta(seconds=seconds(text))
    except (ValueError, OverflowError) as error:
        raise UsageError(f"duration '{text}' is not understood", "say 90s, 30m, 12h or 7d") from error
