"""Values that a source has not sent because they have not changed: large values of PostgreSQL (TOAST).

The connector writes a placeholder in their place, in a form that depends on the column's type. A value that cannot be
told from the placeholder must never reach a table.
"""

import base64
import json
import uuid
from dataclasses import dataclass
from enum import StrEnum
from hashlib import md5
from typing import Any

from common.debezium.conversions import Carrier
from common.debezium.source_schema import ConnectType, SourceColumn
from common.debezium.type_rules import CONNECT, DEBEZIUM_DATA, DEBEZIUM_TIME

DEFAULT_PLACEHOLDER = "__debezium_unavailable_value"
HEX = "hex:"
# Literal types whose values are too short to be stored apart from their row.
SHORT = {"boolean", "int8", "int16", "int32", "int64", "float32", "float64"}
SHORT_NAMES = {DEBEZIUM_DATA + name for name in ("Enum", "EnumSet", "Uuid", "Bits")} | {CONNECT + "Decimal"}
TEXTS_IN_LISTS = {None, DEBEZIUM_DATA + "Json"}
CODES_IN_LISTS = {("int32", None), ("int32", DEBEZIUM_TIME + "Date"), ("int64", None)}


class Marker(StrEnum):
    """The form of the placeholder in a column."""

    TEXT = "text"
    # JSON by its own text, or an hstore that the connector writes as JSON.
    JSON_TEXT = "JSON text"
    BYTES = "bytes"
    TEXTS = "list of one text"
    BYTES_LIST = "list of one bytes"
    CODES = "list of the codes of its characters"
    UUIDS = "list of one UUID, made from it"
    MAP = "map of it to itself"
    # Values of this type are never left out.
    NEVER = "never"
    # They are left out, and Debezium has no form of the placeholder for them: it fails, or sends nothing of use.
    NO_FORM = "no form"


def marker_of(connect: ConnectType) -> Marker:
    """Return the form that the placeholder takes in a column of this type."""
    if connect.kind == "string":
        return string_marker(connect.name)
    if connect.kind == "bytes":
        return Marker.NEVER if connect.name in SHORT_NAMES else Marker.BYTES
    if connect.kind == "array":
        return list_marker(connect)
    if connect.kind == "map":
        return Marker.MAP
    return Marker.NEVER if connect.kind in SHORT else Marker.NO_FORM


def string_marker(name: str | None) -> Marker:
    if name in SHORT_NAMES or (name is not None and name.startswith(DEBEZIUM_TIME)):
        return Marker.NEVER
    return Marker.JSON_TEXT if name == DEBEZIUM_DATA + "Json" else Marker.TEXT


def list_marker(connect: ConnectType) -> Marker:
    items = connect.inner("items").type
    if connect.name is not None:
        return Marker.NO_FORM
    if items.kind == "string" and items.name in TEXTS_IN_LISTS:
        return Marker.TEXTS
    if items.kind == "string" and items.name == DEBEZIUM_DATA + "Uuid":
        return Marker.UUIDS
    if items.kind == "bytes" and items.name is None:
        return Marker.BYTES_LIST
    return Marker.CODES if (items.kind, items.name) in CODES_IN_LISTS else Marker.NO_FORM


@dataclass(frozen=True)
class Placeholder:
    """The placeholder of a connector, as the setting `unavailable.value.placeholder` gives it."""

    octets: bytes

    @classmethod
    def of(cls, setting: str = DEFAULT_PLACEHOLDER) -> "Placeholder":
        is_hex = setting.startswith(HEX)
        return cls(bytes.fromhex(setting.removeprefix(HEX)) if is_hex else setting.encode())

    @property
    def text(self) -> str:
        return self.octets.decode(errors="replace")

    def forms(self, marker: Marker, carrier: Carrier) -> tuple[Any, ...]:
        """Return every value by which a message says that a column has not changed."""
        octets: Any = base64.b64encode(self.octets).decode() if carrier is Carrier.JSON else self.octets
        pair = {self.text: self.text}
        # Java's bytes have a sign.
        codes = [octet - 256 if octet > 127 else octet for octet in self.octets]
        return {
            Marker.TEXT: (self.text,),
            Marker.JSON_TEXT: (self.text, json.dumps(pair, ensure_ascii=False, separators=(",", ":"))),
            Marker.BYTES: (octets,),
            Marker.TEXTS: ([self.text],),
            Marker.BYTES_LIST: ([octets],),
            Marker.CODES: (codes,),
            Marker.UUIDS: ([self.derived_uuid],),
            Marker.MAP: (pair,),
        }.get(marker, ())

    @property
    def derived_uuid(self) -> str:
        """The UUID that Java's `UUID.nameUUIDFromBytes` makes from the placeholder."""
        digest = md5(self.octets, usedforsecurity=False).digest()
        return str(uuid.UUID(bytes=digest, version=3))


def is_unchanged(column: SourceColumn, value: Any, placeholder: Placeholder, carrier: Carrier) -> bool:
    """True where a value of a message is the placeholder in the form of its column's type."""
    return value is not None and value in placeholder.forms(marker_of(column.type), carrier)


def needs_full_identity(column: SourceColumn) -> bool:
    """True for a column whose unchanged values are lost unless the table has REPLICA IDENTITY FULL."""
    return marker_of(column.type) is Marker.NO_FORM
