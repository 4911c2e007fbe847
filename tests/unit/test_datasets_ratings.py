"""The ratings' generator: seeded, and true to what it says of its events."""

import json

import pytest
from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
from avro.schema import parse

from datasets.ratings.damage import DAMAGES, damaged
from datasets.ratings.events import DAY, Event, Shares, events
from datasets.ratings.schemas import VERSIONS, schema
from tests.support.avro import datum

NOW = 1_700_000_000


@pytest.fixture(scope="module")
def drawn() -> list[Event]:
    return list(events(1, 20_000, NOW))


def test_the_same_parameters_draw_the_same_events(drawn: list[Event]) -> None:
    assert list(events(1, 20_000, NOW)) == drawn
    assert list(events(1, 100, NOW)) == drawn[:100]
    assert {event.key for event in events(2, 1000, NOW)} & {event.key for event in drawn} == set()


def test_an_event_keeps_its_timestamp_whoever_sends_it_when(drawn: list[Event]) -> None:
    """It is declared immutable, and the table pruned by it."""
    later = list(events(1, 20_000, NOW + DAY))
    stamps: dict[str, set[int]] = {}
    for event in [*drawn, *later]:
        stamps.setdefault(event.key, set()).add(event.rating.rating_timestamp)
    assert {len(each) for each in stamps.values()} == {1}


def test_shares_and_kinds_are_as_declared(drawn: list[Event]) -> None:
    def share(kind: str) -> float:
        return sum(event.kind == kind for event in drawn) / len(drawn)

    declared = Shares()
    for kind in ("broken", "late", "duplicate", "update"):
        assert share(kind) == pytest.approx(getattr(declared, kind), abs=0.005)
    seen: dict[str, Event] = {}
    for event in drawn:
        assert (event.kind in {"duplicate", "update", "broken"}) == (event.key in seen)
        assert (event.damage is not None) == (event.kind == "broken")
        assert (NOW - event.rating.rating_timestamp > 5 * DAY) == (event.kind == "late")
        seen[event.key] = event


def test_every_version_can_write_its_events_and_be_read_by_the_latest(drawn: list[Event]) -> None:
    for event in drawn[:500]:
        assert datum(schema(event.version), event.fields())
    latest = json.loads(schema(5).replace("movie_id", "film_id"))
    for version in VERSIONS:
        # Python's checker knows no aliases: the renamed field has its old name here.
        writer = parse(schema(version).replace("movie_id", "film_id"))
        found = ReaderWriterCompatibilityChecker().get_compatibility(parse(json.dumps(latest)), writer)
        assert found.compatibility is SchemaCompatibilityType.compatible


def test_damage_changes_bytes() -> None:
    value = b"\x00\x00\x00\x00\x01payload"
    assert len({damaged(value, damage) for damage in DAMAGES} - {value}) == len(DAMAGES)
