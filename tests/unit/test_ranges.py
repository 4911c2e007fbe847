"""What a batch's range must be to the table's position: where it ends, exactly."""

import pytest

from common.engine.resume import is_already_committed
from common.errors import AccountingError, StateError
from common.model.offsets import Offsets, Plan
from common.model.position import Position, first_position
from common.rules.accounting import check_plan
from tests.support.partitions import of_t


def at(offsets: Offsets) -> Position:
    return Position("trial", 1, 3, {"t": "an id"}, offsets, "run-1")


def test_a_stream_batch_that_the_table_has_is_settled() -> None:
    assert is_already_committed(Plan(of_t({0: 0, 1: 0}), of_t({0: 5, 1: 2})), at(of_t({0: 5, 1: 2})))
    assert is_already_committed(Plan(of_t({0: 0, 1: 0}), of_t({0: 4, 1: 2})), at(of_t({0: 5, 1: 2})))


def test_a_stream_batch_that_begins_at_the_position_is_not() -> None:
    assert not is_already_committed(Plan(of_t({0: 5, 1: 2}), of_t({0: 6, 1: 2})), at(of_t({0: 5, 1: 2})))
    assert not is_already_committed(Plan(of_t({0: 5, 1: 0}), of_t({0: 5, 1: 2})), at(of_t({0: 5})))
    assert not is_already_committed(Plan(of_t({0: 7}), of_t({0: 9})), first_position("trial", 1, ["t"]))


def test_a_stream_batch_without_records_has_nothing_to_settle_even_before_the_first_commit() -> None:
    assert is_already_committed(Plan(of_t({0: 0, 1: 7}), of_t({0: 0, 1: 7})), first_position("trial", 1, ["t"]))


@pytest.mark.parametrize("first", [4, 6])
def test_a_stream_batch_that_begins_elsewhere_is_refused(first: int) -> None:
    with pytest.raises(
        StateError, match=r"the table stands at \{'t': \{0: 5\}\}; start the job again: it goes on from the table"
    ):
        is_already_committed(Plan(of_t({0: first}), of_t({0: 9})), at(of_t({0: 5})))


def test_a_plan_begins_where_the_table_ends() -> None:
    check_plan(Plan(of_t({0: 5, 1: 0}), of_t({0: 6, 1: 1})), of_t({0: 5}))
    check_plan(Plan(of_t({0: 7}), of_t({0: 9})), {})


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (of_t({0: 4, 1: 2}), "partition 0 of 't': the plan begins at 4, the table ends at 5"),
        (of_t({0: 6, 1: 2}), "partition 0 of 't': the plan begins at 6, the table ends at 5"),
        (of_t({0: 5, 1: 2, 2: 1}), "partition 2 of 't': the plan begins at 1, the table ends at 0"),
        (of_t({0: 5}), "partition 1 of 't' is not in the plan"),
    ],
)
def test_a_bug_in_planning_unbalances_the_accounts(start: Offsets, said: str) -> None:
    with pytest.raises(AccountingError, match=said):
        check_plan(Plan(start, dict.fromkeys(start, 9)), of_t({0: 5, 1: 2}))
