"""A connector file as frozen models: where Connect, brokers and database are, what is captured, and settings."""

import re
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from common.settings.base import Secret, Section
from common.settings.connector_settings import KNOWN, is_known
from common.settings.kafka import Kafka
from common.settings.pipeline import nearest

# PostgreSQL's own rule for the name of a slot.
SLOT = re.compile(r"[a-z0-9_]{1,63}")
# Everything that Kafka allows in the name of a topic, without the dots that divide it.
PREFIX = re.compile(r"[A-Za-z0-9_-]+")
SECRET = re.compile(r"password|passphrase|secret|token|jaas|credential|\.salt\.|ssl\.key$|keystore\.key", re.IGNORECASE)
# Connect replaces it by what it names: a file of the worker, or a variable of it.
PROVIDED = re.compile(r"\$\{[a-z]+:[^}]+\}")
FLATTENING = "ExtractNewRecordState"
# What the sections say, by the names that Connect has for it.
SAID_BY_SECTIONS = {
    "name": "the name of the file",
    "topic.prefix": "capture.topic_prefix",
    "slot.name": "capture.slot",
    "publication.name": "capture.publication",
    "signal.data.collection": "capture.signals",
    "schema.include.list": "capture.schemas",
    "schema.exclude.list": "capture.schemas",
    "table.include.list": "capture.tables",
    "table.exclude.list": "capture.without",
    "database.hostname": "database.host",
    "database.port": "database.port",
    "database.dbname": "database.name",
    "database.user": "database.user",
    "database.password": "database.password",
    "database.sslmode": "database.sslmode",
}

Setting = str | int | bool


def port(value: object) -> object:
    """Take a port that a variable says, which is a text."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def worker_url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/") or parts.query:
        raise ValueError("a worker of Kafka Connect is named as http://HOST:PORT or https://HOST:PORT")
    if parts.username is not None:
        raise ValueError("credentials do not stand in the address of a worker")
    return text.rstrip("/")


def slot(name: str) -> str:
    if SLOT.fullmatch(name) is None:
        raise ValueError("a slot and a publication are named with small letters, digits and underscores, 63 at most")
    return name


def prefix(name: str) -> str:
    if PREFIX.fullmatch(name) is None:
        raise ValueError("a topic prefix has letters, digits, dashes and underscores only: dots divide a topic's name")
    return name


def table(name: str) -> str:
    schema, dot, own = name.partition(".")
    if not (schema and dot and own) or "." in own:
        raise ValueError(f"'{name}' is not SCHEMA.TABLE")
    return name


def pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"'{text}' is not a regular expression ({error})") from None
    return text


def provided(text: str) -> str:
    if text and PROVIDED.fullmatch(text) is None:
        raise ValueError("a secret does not stand in a connector file; write ${PROVIDER:…} for Connect to look it up")
    return text


Port = Annotated[int, BeforeValidator(port), Field(ge=1, le=65535)]
OptionalPort = Annotated[int | None, BeforeValidator(lambda value: port(value) or None)]
Name = Annotated[str, AfterValidator(slot)]
Table = Annotated[str, AfterValidator(table)]
Pattern = Annotated[str, AfterValidator(pattern)]


class Worker(Section):
    """Where Kafka Connect answers."""

    url: Annotated[str, AfterValidator(worker_url)]
    """The address of any worker."""


class Brokers(Section):
    """Where the topics are, for `status`, which reads the last heartbeat."""

    brokers: str = Field(min_length=1)
    """The brokers, with commas between them."""
    access: Kafka | None = None
    """How the cluster lets us in, as in [source.kafka] of a pipeline file."""


class Database(Section):
    """The source database: as this machine reaches it, and as Connect does where that differs."""

    host: str = Field(min_length=1)
    """The host."""
    port: Port = 5432
    """The port."""
    name: str = Field(min_length=1)
    """The name of the database."""
    user: str = Field(min_length=1)
    """The user of the connector. It needs REPLICATION, and SELECT on the tables."""
    password: Secret
    """Where the user's password is."""
    sslmode: Literal["disable", "prefer", "require", "verify-ca", "verify-full"] = "prefer"
    """PostgreSQL's own setting."""
    connect_host: str = ""
    """The host as Connect reaches it; empty where it is the same."""
    connect_port: OptionalPort = None
    """The port as Connect reaches it; by default the same."""
    connect_password: Annotated[str, AfterValidator(provided)] = ""
    """How Connect finds the password; by default by the same file or variable."""

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"


class Capture(Section):
    """What is captured, and the names of what a connector needs in the database."""

    topic_prefix: Annotated[str, AfterValidator(prefix)]
    """The first part of each topic's name: PREFIX.SCHEMA.TABLE."""
    slot: Name
    """The replication slot. Each connector has its own."""
    publication: Name
    """The publication, which `register` creates."""
    schemas: list[str] = Field(default_factory=list)
    """Schemas with all their tables, also those that are created later."""
    tables: list[Table] = Field(default_factory=list)
    """Single tables, as SCHEMA.TABLE, in place of `schemas`."""
    without: list[Pattern] = Field(default_factory=list)
    """Regular expressions of SCHEMA.TABLE: tables of `schemas` that are not captured, and partitions."""
    signals: Table
    """The table by which this connector is told to take a snapshot. `register` creates it."""

    @model_validator(mode="after")
    def something_is_captured(self) -> Self:
        if bool(self.schemas) == bool(self.tables):
            raise ValueError("name either schemas or tables")
        if self.tables and self.without:
            raise ValueError("without has no effect with tables")
        return self

    def holds(self, name: str) -> bool:
        """True where a table, as SCHEMA.TABLE, is captured. Debezium ignores the case of patterns."""
        if self.tables:
            return name in self.tables
        excluded = any(re.fullmatch(each, name, re.IGNORECASE) for each in self.without)
        return name.partition(".")[0] in self.schemas and not excluded


class Connector(Section):
    """One connector file."""

    name: str
    """The name of the file, without `.toml`. It does not stand in the file."""
    base: Literal["postgresql"]
    """The file of conf/connectors/base with the settings for this kind of database."""
    connect: Worker
    """Where Kafka Connect answers."""
    kafka: Brokers
    """Where the topics are."""
    database: Database
    """The source database."""
    capture: Capture
    """What is captured."""
    settings: dict[str, Setting] = Field(default_factory=dict)
    """Settings of Debezium and of Connect by their own names. They stand above those of the base."""

    @model_validator(mode="after")
    def settings_are_known(self) -> Self:
        for name, value in self.settings.items():
            check_setting(name, value)
        return self


def check_setting(name: str, value: Setting) -> None:
    if name in SAID_BY_SECTIONS:
        raise ValueError(f"settings.{name}: it is said by {SAID_BY_SECTIONS[name]}")
    if not is_known(name):
        raise ValueError(f"unknown key 'settings.{name}'{nearest(name, sorted(KNOWN))}")
    # The value is not repeated, because it may be the secret itself.
    if SECRET.search(name) and not (isinstance(value, str) and PROVIDED.fullmatch(value)):
        raise ValueError(f"settings.{name}: a secret does not stand in a connector file; write ${{PROVIDER:…}}")
    if name.startswith("transforms.") and FLATTENING in str(value):
        raise ValueError(f"settings.{name}: {FLATTENING} drops what tells updates, deletes and their order apart")
