"""Write ratings as Avro: register every version of their schema, and write each event by its own version."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient, topic_subject_name_strategy
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import MessageField, SerializationContext

from common.errors import AlluviumError
from common.produce.records import Record
from common.registry.client import Client

Serialize = Callable[[Mapping[str, object]], bytes]


class Written(Protocol):
    """An event to write: its version, its key, its fields in that version, and the bytes that are sent."""

    @property
    def version(self) -> int: ...
    @property
    def key(self) -> str: ...
    def fields(self) -> Mapping[str, object]: ...
    def sent(self, value: bytes) -> bytes: ...


def serializers(url: str, topic: str, schemas: Mapping[int, str], patience_seconds: float) -> dict[int, Serialize]:
    """Register all versions under the topic's subject, in their order, and return a serializer for each."""
    # Confluent's client would retry for long before it says that nobody is there.
    Client(url, patience_seconds).ask(lambda registry: registry.get_subjects())
    client = SchemaRegistryClient({"url": url})
    context = SerializationContext(topic, MessageField.VALUE)
    subject = str(topic_subject_name_strategy(context, None))
    found = {}
    for version, schema in sorted(schemas.items()):
        register(client, subject, schema)
        found[version] = by(AvroSerializer(client, schema, conf={"auto.register.schemas": False}), context)
    return found


def by(serializer: AvroSerializer, context: SerializationContext) -> Serialize:
    return lambda fields: bytes(serializer(fields, context))


def register(client: SchemaRegistryClient, subject: str, schema: str) -> None:
    try:
        client.register_schema(subject, Schema(schema, "AVRO"))
    except SchemaRegistryError as error:
        raise AlluviumError(
            f"the schema registry refuses a schema for subject '{subject}' ({error.error_message})",
            "send to another topic, whose subject has no other schemas",
        ) from error


def to_records(events: Iterable[Written], serialize: Mapping[int, Serialize]) -> Iterator[Record]:
    """Make records keyed by the event's id, so that all records of an event stay in order."""
    for event in events:
        yield Record(event.key.encode(), event.sent(serialize[event.version](event.fields())))
