"""Accounts of a batch: every offset of a plan is counted once, and a wrong count stops the batch."""

import pytest

from common.errors import AccountingError
from common.model.disposition import DISPOSITION, FOLDED, LATE, MERGE, QUARANTINED
from common.model.offsets import Plan, TopicPartition
from common.rules.accounting import check_tally, tally, totals, with_wrong_dedup
from tests.support.arrow_records import batch, row
from tests.support.partitions import of_t

PLANNED = Plan(of_t({0: 0, 1: 0}), of_t({0: 4, 1: 2}))
SOUND = [
    row(0),
    row(1, disposition=LATE),
    row(2, disposition=QUARANTINED),
    row(3, disposition=FOLDED),
    row(0, partition=1),
    row(1, partition=1),
]


def test_rows_are_counted_by_topic_partition_and_disposition() -> None:
    counted = tally(batch([*SOUND, row(7, topic="u")]))
    assert set(counted) == {TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)}
    first = counted[TopicPartition("t", 0)]
    assert (first.rows, first.offsets, first.first, first.last, first.wrong) == (4, 4, 0, 3, 0)
    assert {name: count for name, count in first.dispositions.items() if count} == {
        MERGE: 1,
        LATE: 1,
        QUARANTINED: 1,
        FOLDED: 1,
    }
    assert totals(counted)[MERGE] == 4


def test_a_sound_batch_passes() -> None:
    check_tally(tally(batch(SOUND)), PLANNED)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([*SOUND, row(4)], "partition 0 of 't': offsets 0 to 4 are not in the plan"),
        ([*SOUND, row(0, partition=2)], "partition 2 of 't': offsets 0 to 0 are not in the plan"),
        ([*SOUND, row(0, topic="u")], "partition 0 of 'u': offsets 0 to 0 are not in the plan"),
        ([*SOUND, row(1)], "partition 0 of 't': 5 rows have 4 offsets"),
        ([*SOUND[1:], row(0, disposition="lost")], "partition 0 of 't': 4 rows were read, 3 have a fate"),
        ([*SOUND[1:], row(0, disposition=None)], "partition 0 of 't': 4 rows were read, 3 have a fate"),
        ([*SOUND[1:], row(0, wrong=True)], "partition 0 of 't': 1 rows have a fate that is not theirs"),
    ],
)
def test_a_batch_that_does_not_add_up_is_refused(rows: list[dict[str, object]], said: str) -> None:
    with pytest.raises(AccountingError, match=said):
        check_tally(tally(batch(rows)), PLANNED)


@pytest.mark.parametrize(
    ("before", "after", "is_wrong"),
    [(MERGE, MERGE, False), (MERGE, FOLDED, False), (FOLDED, MERGE, True), (LATE, FOLDED, True), (MERGE, LATE, True)],
)
def test_deduplication_may_only_fold_what_was_to_be_merged(before: str, after: str, *, is_wrong: bool) -> None:
    classified, deduplicated = batch([row(0, disposition=before)]), batch([row(0, disposition=after)])
    assert with_wrong_dedup(classified, deduplicated)["_wrong_disposition"].to_pylist() == [is_wrong]
    assert with_wrong_dedup(classified, deduplicated)[DISPOSITION].to_pylist() == [after]
