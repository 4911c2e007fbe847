"""Connector files: conf/connectors/NAME.toml, read once into frozen models; unknown and missing keys are errors.

What all connectors to one kind of database have in common, with its reasons, is in conf/connectors/base/KIND.toml.
"""

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from common.errors import ConfigurationError
from common.settings.base import Secret, Section
from common.settings.connector_settings import KNOWN, is_known
from common.settings.environment import connectors_dir, home, variable
from common.settings.pipeline import Kafka, first_problem, nearest

# In a text: ${NAME}, or ${NAME:-default}, as in a compose file.
VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(:-(?P<default>[^{}]*))?\}")
# A default may name a variable itself.
NESTED = 2
FILLED_IN = ("connect", "kafka", "database")
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


def read_connector(name: str) -> Connector:
    """Read the connector called NAME, over its base, with every variable filled in."""
    folder = connectors_dir()
    path = folder / f"{name}.toml"
    if not path.is_file():
        known = sorted(file.stem for file in folder.glob("*.toml"))
        raise ConfigurationError(f"no connector '{name}'", f"it would be {path}; there are: {', '.join(known)}")
    content = parsed(path)
    for part in FILLED_IN:
        content[part] = filled_in(content.get(part, {}), path)
    own = validated(path, {**content, "name": name})
    merged = parsed(base_file(own.base)).get("settings", {}) | own.settings
    return validated(base_file(own.base), {**own.model_dump(), "settings": merged})


def base_file(base: str) -> Path:
    """Find the base beside the connector files, or else in the project."""
    beside = connectors_dir() / "base" / f"{base}.toml"
    return beside if beside.is_file() else home() / "conf" / "connectors" / "base" / f"{base}.toml"


def parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: {error}", "correct the file") from error


def validated(path: Path, content: dict[str, Any]) -> Connector:
    try:
        return Connector.model_validate(content)
    except ValidationError as error:
        raise ConfigurationError(f"{path}: {first_problem(error, Connector)}", "correct the file") from error


def filled_in(value: Any, path: Path) -> Any:
    """Replace ${NAME} and ${NAME:-default} in every text by the variable of the environment."""
    if isinstance(value, dict):
        return {key: filled_in(each, path) for key, each in value.items()}
    if not isinstance(value, str):
        return value
    for _ in range(NESTED):
        value = VARIABLE.sub(lambda match: from_variable(match["name"], match["default"], path), value)
    return value


def from_variable(name: str, default: str | None, path: Path) -> str:
    found = variable(name) or default
    if found is None:
        raise ConfigurationError(f"{path}: the environment has no {name}", "export it before the command")
    return found
