"""The simulators plan without a database: repeatable, of every kind, and never for a row that is not there."""

from collections import Counter

import pytest

from datasets.shop.book import Shop
from datasets.simulator.book import Book, Columns
from datasets.simulator.chance import Chance
from datasets.simulator.command import spread
from datasets.simulator.operation import Operation, delete, update
from datasets.simulator.pool import Pool
from datasets.voters.book import Voters

BOOKS = [Shop, Voters]
COUNT = 2_000
LATER = {"loyalty_points", "coupon", "remark", "postal_vote", "telephone"}


def columns_of(book: type[Book]) -> Columns:
    """The columns before any schema change, whose types do not matter here."""
    return {
        name: dict.fromkeys([*table.keys, *(column for column in table.makers if column not in LATER)], "integer")
        for name, table in book.tables.items()
        if name != "reviews"
    }


def planned(book: type[Book], seed: int, count: int = COUNT) -> tuple[Book, list[Operation]]:
    made = book(seed, columns_of(book))
    made.drawn |= made.truncating
    operations = made.begin(20)
    operations += [made.next_operation() for _ in range(count)]
    return made, operations


@pytest.mark.parametrize("book", BOOKS)
def test_the_same_seed_plans_the_same_operations(book: type[Book]) -> None:
    first, second, other = (planned(book, seed, 300)[1] for seed in (5, 5, 6))
    assert [each.name for each in first] == [each.name for each in second]
    assert [one.text for each in first for one in each.statements] == [
        one.text for each in second for one in each.statements
    ]
    assert [each.name for each in first] != [each.name for each in other]


@pytest.mark.parametrize("book", BOOKS)
def test_every_operation_comes(book: type[Book]) -> None:
    made, operations = planned(book, 1)
    names = Counter(each.name for each in operations)
    later = {"write_review"}
    assert set(made.drawn) - later - set(names) == set()
    assert {each.end for each in operations} == {"commit", "rollback", "open", "finish"}
    kinds = {one.kind for each in operations for one in each.statements}
    assert kinds == {"insert", "update", "delete", "rekey", "truncate"}


@pytest.mark.parametrize("book", BOOKS)
def test_one_transaction_is_open_at_a_time_and_always_ends(book: type[Book]) -> None:
    made, operations = planned(book, 2)
    last = made.finish()
    ends = [each.end for each in [*operations, *([last] if last else [])] if each.end in {"open", "finish"}]
    assert ends == ["open", "finish"] * (len(ends) // 2)
    assert any(
        between > 1
        for between in (
            later - earlier
            for earlier, later in zip(
                [place for place, each in enumerate(operations) if each.end == "open"],
                [place for place, each in enumerate(operations) if each.end == "finish"],
                strict=False,
            )
        )
    )
    assert made.finish() is None


def test_most_updates_of_a_product_leave_its_large_columns_alone() -> None:
    _, operations = planned(Shop, 3)
    updates = [
        one.text for each in operations for one in each.statements if (one.kind, one.table) == ("update", "products")
    ]
    large = [text for text in updates if "description" in text]
    assert 0 < len(large) < len(updates) / 5


def test_columns_that_the_table_lacks_are_not_written() -> None:
    columns = columns_of(Shop)
    del columns["customers"]["nickname"]
    columns["customers"]["loyalty_points"] = "integer"
    (statement,) = Shop(1, columns).new_customer().statements
    assert "nickname" not in statement.text
    assert "loyalty_points" in statement.text


def test_a_pool_keeps_its_order_whatever_is_removed() -> None:
    pool = Pool(range(5))
    pool.remove(1)
    pool.add(9)
    pool.add(9)
    assert list(pool) == [0, 4, 2, 3, 9]
    assert (len(pool), 1 in pool, 9 in pool) == (5, False, True)
    assert {pool.draw(Chance(seed)) for seed in range(50)} == set(pool)
    assert sorted(pool.draw_some(Chance(1), 99)) == [0, 2, 3, 4, 9]


def test_statements_name_their_rows_by_parameters() -> None:
    changed = update("s", "t", {"a": 1}, {"k": 2, "l": [3, 4]})
    assert (changed.text, changed.values) == (
        'UPDATE s."t" SET "a" = %s WHERE "k" = %s AND "l" = ANY(%s)',
        (1, 2, [3, 4]),
    )
    assert update("s", "t", {}, {"k": 2}).text == 'UPDATE s."t" SET "k" = "k" WHERE "k" = %s'
    assert delete("s", "t", {"k": 2}).text == 'DELETE FROM s."t" WHERE "k" = %s'


def test_schema_changes_are_spread_over_a_run() -> None:
    assert spread(("a", "b", "c"), 100) == {25: ["a"], 50: ["b"], 75: ["c"]}
    assert spread((), 100) == {}


def test_large_values_are_stored_apart() -> None:
    """PostgreSQL moves a value out of its row beyond 2 kB."""
    assert min(len(Chance(seed).large_text()) for seed in range(50)) > 2_048
