"""The section [source]: the topic of a pipeline, and the form of its events."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from common.settings.base import Column, Section
from common.settings.kafka import Kafka
from common.settings.kinds import JSON, VARIANT, parse_kind, sql_type
from common.settings.registry import Registry

# The greatest length that Avro accepts for a text or for bytes: conf/*.conf sets it in the JVM.
AVRO_BYTES = 16 * 1024 * 1024


def kind(text: str) -> str:
    """Return the kind in its one spelling, without spaces: common/settings/kinds.py."""
    return str(parse_kind(text))


Kind = Annotated[str, AfterValidator(kind)]


class Source(Section):
    """The topic of the events, and their form."""

    topic: str
    """The topic that the events are in. Jobs that merge are told the topic again, on their command line.

    Example: topic = "parcels"
    """
    format: Literal["json", "avro"] = "json"
    """The form of a record's value. `avro` needs `[source.registry]`.

    Example: format = "avro"
    """
    columns: dict[Column, Kind] = Field(min_length=1)
    """The columns that an event brings, with their [types](#types-of-columns). Other fields of an event are
    ignored; a field that it lacks is null.

    Example: columns = { parcel_id = "string", posted_on = "date", weight = "decimal(10,2)", scanned_at = "timestamp" }
    """
    null_value: Literal["delete", "skip", "quarantine"] = "quarantine"
    """The meaning of a record without a value: `delete` deletes the row of its message key, `skip` only counts the
    record, `quarantine` keeps it in quarantine.

    Example: null_value = "skip"
    """
    max_records_per_batch: int = Field(default=100_000, ge=1)
    """The most records that one commit settles.

    Example: max_records_per_batch = 50_000
    """
    max_record_bytes: int = Field(default=1_048_576, ge=1)
    """The most bytes of a value; a longer one is quarantined as `OVERSIZED`. With Avro it is 16777216 at most.

    Example: max_record_bytes = 65_536
    """
    kafka: Kafka | None = None
    """Access to the cluster."""
    registry: Registry | None = None
    """The registry of the Avro schemas."""

    @model_validator(mode="after")
    def settings_fit_the_format(self) -> Self:
        if (self.registry is None) == (self.format == "avro"):
            raise ValueError(
                f"format '{self.format}' needs a registry"
                if self.format == "avro"
                else f"registry has no effect with format '{self.format}'"
            )
        if self.format == "avro" and self.null_value == "delete":
            raise ValueError(
                "null_value 'delete' needs message keys in JSON; with format 'avro' say skip or quarantine"
            )
        if self.format == "avro" and self.max_record_bytes > AVRO_BYTES:
            raise ValueError(f"max_record_bytes is at most {AVRO_BYTES} with format 'avro'")
        for name, kind in self.columns.items():
            if self.format == "avro" and kind in {JSON, VARIANT}:
                raise ValueError(
                    f"columns.{name}: {kind} needs format 'json'; an Avro value has a schema, declare it as array, map "
                    "or struct"
                )
        return self

    @property
    def types(self) -> dict[str, str]:
        """Spark's type of each column."""
        return {name: sql_type(kind) for name, kind in self.columns.items()}

    @property
    def ddl(self) -> str:
        return ", ".join(f"`{name}` {kind}" for name, kind in self.types.items())
