"""Of each key one row is merged, the newest: every other case is found and said."""

import pytest

from common.errors import AccountingError, SplitKeyError
from common.model.disposition import FOLDED, LATE
from common.rules.key_uniqueness import check_keys, first_ambiguous_key
from tests.support.arrow_records import batch, row

FOLD = {"disposition": FOLDED}


def check(rows: list[dict[str, object]], ordering: str | None = None) -> None:
    check_keys(first_ambiguous_key(batch(rows), ["id"], ordering), ["id"], ordering)


def test_one_newest_row_of_each_key_is_clear() -> None:
    check([row(0, **FOLD), row(1), row(2, key=1), row(3, key=2, disposition=LATE)])
    check([row(0, version=2.0), row(1, version=1.0, **FOLD), row(0, key=1, version=None, partition=1)], "version")


@pytest.mark.parametrize(
    ("rows", "ordering", "said"),
    [
        ([row(0), row(1)], None, "key id=0: 2 of its 2 rows are to be merged"),
        ([row(0, **FOLD), row(1, **FOLD)], None, "key id=0: 0 of its 2 rows are to be merged"),
        ([row(0), row(1, **FOLD)], None, "key id=0: an older row of it is to be merged, the newest is folded"),
        ([row(0, version=1.0), row(1, version=2.0, **FOLD)], "version", "an older row of it is to be merged"),
        ([row(0, key=1), row(1, key=1), row(2, key=0), row(3, key=0)], None, "key id=0"),
    ],
)
def test_any_other_key_is_named(rows: list[dict[str, object]], ordering: str | None, said: str) -> None:
    with pytest.raises(AccountingError, match=said):
        check(rows, ordering)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"partition": 3}, "key id=0 came from partitions 0 and 3, whose order nobody knows"),
        ({"topic": "u"}, "key id=0 came from partition 0 of 't' and partition 0 of 'u', whose order nobody knows"),
    ],
)
def test_without_a_sequence_a_key_lives_in_one_partition(other: dict[str, object], said: str) -> None:
    with pytest.raises(SplitKeyError, match=said):
        check([row(0, **FOLD), row(1, **other)])
    check([row(0, version=1.0, **FOLD), row(1, version=2.0, **other)], "version")
