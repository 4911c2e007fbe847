"""A Kafka record as a column of a batch."""

import pyarrow as pa
import pyarrow.compute as pc

from common.model.offsets import TopicPartition

# The struct that keeps the whole record, so that an event may have columns called key, offset or timestamp too.
RECORD = "_record"
RECORD_FIELDS = ("key", "value", "topic", "partition", "offset", "timestamp")
PARTITIONS_AT_MOST = 2**31
RECORD_DDL = "struct<key: binary, value: binary, topic: string, partition: int, offset: bigint, timestamp: timestamp>"


def record_field(rows: pa.Table, name: str) -> pa.ChunkedArray:
    """Return one field of the records in a batch."""
    return pc.struct_field(rows[RECORD], name)


def partition_numbers(rows: pa.Table) -> tuple[pa.ChunkedArray, list[TopicPartition]]:
    """Number the partitions of the records: a number for each row, and what the numbers mean, in their order.

    Numbers are compared and grouped faster than the names of topics.
    """
    topics = sorted(pc.unique(record_field(rows, "topic")).to_pylist())
    partition = record_field(rows, "partition")
    topic = pc.index_in(record_field(rows, "topic"), value_set=pa.array(topics, pa.string()))
    combined = pc.add(pc.multiply(topic.cast(pa.int64()), PARTITIONS_AT_MOST), partition.cast(pa.int64()))
    numbers = pc.unique(combined).sort()
    meaning = [
        TopicPartition(topics[each // PARTITIONS_AT_MOST], each % PARTITIONS_AT_MOST) for each in numbers.to_pylist()
    ]
    return pc.index_in(combined, value_set=numbers), meaning
