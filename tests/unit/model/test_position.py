"""A position as it rides in a commit: two formats, both read, the older one written where it is enough."""

import json

import pytest

from common.errors import StateError
from common.model.offsets import TopicPartition
from common.model.position import Position, first_position, from_metadata, pipeline_and_epoch, position_in
from tests.support.partitions import of_t, of_topic

# As the version before this format wrote it, to the letter.
FORMAT_1 = (
    '{"alluvium": 1, "pipeline": "trial", "epoch": 2, "seq": 7, "topic": "t", "topic_id": "an id", '
    '"offsets": {"0": 5, "1": 12}, "run": "run-1"}'
)


def test_one_topic_is_written_as_the_version_before_wrote_it() -> None:
    position = Position("trial", 2, 7, {"t": "an id"}, of_t({1: 12, 0: 5}), "run-1")
    assert position.to_metadata() == FORMAT_1
    assert from_metadata(FORMAT_1) == position


def test_several_topics_have_their_ids_and_offsets() -> None:
    offsets = {**of_topic("b", {0: 3}), **of_topic("a", {1: 1, 0: 2})}
    position = Position("trial", 1, 4, {"b": "of b", "a": "of a"}, offsets, "run-1")
    content = json.loads(position.to_metadata())
    assert content["alluvium"] == 2
    assert content["topics"] == {
        "a": {"id": "of a", "offsets": {"0": 2, "1": 1}},
        "b": {"id": "of b", "offsets": {"0": 3}},
    }
    assert from_metadata(position.to_metadata()) == position


@pytest.mark.parametrize("topics", [["t"], ["t", "u"]])
def test_an_epochs_beginning_has_read_nothing(topics: list[str]) -> None:
    position = first_position("trial", 3, topics)
    assert from_metadata(position.to_metadata()) == position
    assert (position.seq, dict(position.topic_ids), dict(position.offsets)) == (0, dict.fromkeys(topics), {})


def test_a_transaction_moves_the_offsets_and_counts() -> None:
    after = first_position("trial", 3, ["t"]).advanced({"t": "an id"}, of_t({0: 4}))
    assert (after.app_id, after.seq, after.topic_ids, after.offsets) == (
        "alluvium:trial:3",
        1,
        {"t": "an id"},
        {TopicPartition("t", 0): 4},
    )


def test_another_format_is_refused_with_the_remedy() -> None:
    with pytest.raises(StateError, match=r"has format 3, this version reads 1 and 2; use the version of Alluvium"):
        from_metadata(FORMAT_1.replace('"alluvium": 1', '"alluvium": 3'))


@pytest.mark.parametrize("text", [None, "", "not json", "[1]", '{"somebody": "else"}'])
def test_what_others_wrote_is_no_position(text: str | None) -> None:
    assert position_in(text) is None


@pytest.mark.parametrize(("app_id", "of"), [("alluvium:a:12", ("a", 12)), ("alluvium:a", None), ("other:a:1", None)])
def test_an_application_id_names_pipeline_and_epoch(app_id: str, of: tuple[str, int] | None) -> None:
    assert pipeline_and_epoch(app_id) == of
