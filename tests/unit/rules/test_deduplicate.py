"""Of each key the newest event is merged, and the first of equal ones, wherever a batch ends."""

from hypothesis import given
from hypothesis import strategies as st

from common.model.disposition import DISPOSITION, FOLDED, LATE, MERGE
from common.model.record import RECORD
from common.rules.deduplicate import deduplicate
from tests.support.arrow_records import batch, row

EVENTS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([None, -1.0, 0.0, -0.0, 1.0, float("nan")])), max_size=12
)


def merged_offsets(rows: list[dict[str, object]], ordering: str | None) -> set[int]:
    done = deduplicate(batch(rows), ["id"], ordering)
    assert done[RECORD].to_pylist() == batch(rows)[RECORD].to_pylist()
    return {each[RECORD]["offset"] for each in done.to_pylist() if each[DISPOSITION] == MERGE}


@given(EVENTS)
def test_without_a_sequence_the_last_offset_of_a_key_is_merged(events: list[tuple[int, float | None]]) -> None:
    rows = [row(offset, key=key) for offset, (key, _) in enumerate(events)]
    assert merged_offsets(rows, None) == set({key: offset for offset, (key, _) in enumerate(events)}.values())


def rank(version: float | None) -> tuple[int, float]:
    """Spark's order: a null is least, NaN is greatest, and both zeros are one number."""
    if version is None:
        return (0, 0.0)
    return (2, 0.0) if version != version else (1, version + 0.0)  # noqa: PLR0124 (NaN alone differs from itself)


@given(EVENTS)
def test_by_a_sequence_the_greatest_is_merged_and_of_equal_ones_the_first(
    events: list[tuple[int, float | None]],
) -> None:
    newest: dict[int, int] = {}
    for offset, (key, version) in enumerate(events):
        if key not in newest or rank(version) > rank(events[newest[key]][1]):
            newest[key] = offset
    rows = [row(offset, key=key, version=version) for offset, (key, version) in enumerate(events)]
    assert merged_offsets(rows, "version") == set(newest.values())


def test_of_equal_ones_in_two_topics_the_same_is_kept_in_whichever_order_they_were_read() -> None:
    rows = [row(0, topic="u", version=1.0), row(0, topic="t", version=1.0), row(0, partition=1, version=1.0)]
    for order in (rows, rows[::-1]):
        done = deduplicate(batch(order), ["id"], "version")
        (kept,) = [each[RECORD] for each in done.to_pylist() if each[DISPOSITION] == MERGE]
        assert (kept["topic"], kept["partition"]) == ("t", 0)


def test_what_was_turned_away_competes_with_nobody() -> None:
    rows = [row(0), row(1, disposition=LATE), row(2, disposition=None)]
    done = deduplicate(batch(rows), ["id"], None)[DISPOSITION].to_pylist()
    assert done == [MERGE, LATE, None]
    assert FOLDED not in done
