"""Offsets of one topic, written by the numbers of its partitions."""

from collections.abc import Mapping

from common.model.offsets import TopicPartition, by_topic


def of_topic(topic: str, offsets: Mapping[int, int]) -> dict[TopicPartition, int]:
    return {TopicPartition(topic, partition): offset for partition, offset in offsets.items()}


def of_t(offsets: Mapping[int, int]) -> dict[TopicPartition, int]:
    """For what needs no broker."""
    return of_topic("t", offsets)


def numbered(offsets: Mapping[TopicPartition, int]) -> dict[int, int]:
    """The offsets of the only topic by the numbers of its partitions."""
    ((_, only),) = by_topic(offsets).items() if offsets else [("", {})]
    return only
