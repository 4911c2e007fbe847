"""A Kafka record as a column of a batch."""

import pyarrow as pa
import pyarrow.compute as pc

# The struct that keeps the whole record, so that an event may have columns called key, offset or timestamp too.
RECORD = "_record"
RECORD_FIELDS = ("key", "value", "topic", "partition", "offset", "timestamp")
RECORD_DDL = "struct<key: binary, value: binary, topic: string, partition: int, offset: bigint, timestamp: timestamp>"


def record_field(rows: pa.Table, name: str) -> pa.ChunkedArray:
    """One field of the records in a batch."""
    return pc.struct_field(rows[RECORD], name)
