"""Avro values as a producer sends them, by the plain-Python implementation."""

import io
import json
from typing import Any

import avro.schema
from avro.io import BinaryEncoder, DatumWriter


def record(*fields: dict[str, Any], **more: Any) -> str:
    return json.dumps({"type": "record", "name": "Event", "fields": fields, **more})


def field(name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


def logical(kind: str, meaning: str, /, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": meaning, **more}


def datum(schema: str, value: Any) -> bytes:
    buffer = io.BytesIO()
    DatumWriter(avro.schema.parse(schema)).write(value, BinaryEncoder(buffer))
    return buffer.getvalue()


def framed(number: int, content: bytes) -> bytes:
    return b"\x00" + number.to_bytes(4) + content


def message(number: int, schema: str, value: Any) -> bytes:
    return framed(number, datum(schema, value))
