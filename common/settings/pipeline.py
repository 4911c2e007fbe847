"""Pipelines are files: conf/pipelines/NAME.toml, read once into frozen models; unknown and missing keys are errors."""

import difflib
import tomllib
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, Field, ValidationError, model_validator

from common.durations import duration
from common.errors import ConfigurationError
from common.settings.base import Secret, Section
from common.settings.environment import pipelines_dir
from common.settings.kinds import IDENTIFIER, JSON, PLAIN, VARIANT, is_plain, parse_kind, sql_type
from common.settings.registry import Registry

# What Delta skips files by with certainty: no NaN, no scale that a literal could miss.
PRUNABLE = ("int", "bigint", "date", "timestamp", "string")
# The order of events is their place in the topic, unless a column says it.
POSITION = "position"
# A length that Avro's bytes claim is believed up to here and no further: conf/*.conf tells the JVM.
AVRO_BYTES = 16 * 1024 * 1024

# With this property Delta forgets transactions, and with them where a pipeline goes on.
TRANSACTION_RETENTION = "delta.setTransactionRetentionDuration"


def identifier(name: str) -> str:
    """Names from a file end up in SQL: letters, digits and underscores only, and quoted all the same."""
    if IDENTIFIER.fullmatch(name) is None:
        raise ValueError("a column is named with letters, digits and underscores")
    return name


def kind(text: str) -> str:
    """The kind in its one spelling, without spaces: common/settings/kinds.py."""
    return str(parse_kind(text))


Column = Annotated[str, AfterValidator(identifier)]
Kind = Annotated[str, AfterValidator(kind)]
Duration = Annotated[str, AfterValidator(duration)]


class Kafka(Section):
    """How the cluster lets us in. Without this table: plain text, and nobody asks who we are."""

    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
    """Whether the brokers speak TLS, and whether they ask for a user.

    Example: security_protocol = "SASL_SSL"
    """
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    """How the password is proved. Needed with SASL.

    Example: sasl_mechanism = "SCRAM-SHA-512"
    """
    sasl_username: str | None = Field(default=None, min_length=1)
    """The user. Needed with SASL.

    Example: sasl_username = "alluvium"
    """
    sasl_password: Secret | None = None
    """The password of the user. Needed with SASL.

    Example: sasl_password = "env:KAFKA_PASSWORD"
    """
    ssl_ca: str | None = None
    """A PEM file with the authorities to trust; without it, those that this machine trusts.

    Example: ssl_ca = "/etc/alluvium/ca.pem"
    """
    ssl_certificate: str | None = None
    """A PEM file with our certificate, for a cluster that asks for one. Goes with `ssl_key`.

    Example: ssl_certificate = "/etc/alluvium/client.pem"
    """
    ssl_key: Secret | None = None
    """The key of our certificate: PKCS#8 in PEM form.

    Example: ssl_key = "file:/etc/alluvium/client.key"
    """
    ssl_key_password: Secret | None = None
    """The password of the key, if it is encrypted.

    Example: ssl_key_password = "env:KEY_PASSWORD"
    """

    @model_validator(mode="after")
    def settings_fit_the_protocol(self) -> Self:
        """A setting without effect is a mistake: who names a password believes that it is asked for."""
        given = {name for name in type(self).model_fields if getattr(self, name) is not None}
        sasl = {"sasl_mechanism", "sasl_username", "sasl_password"}
        fitting = {"security_protocol"}
        if self.security_protocol.startswith("SASL"):
            for missing in sorted(sasl - given):
                raise ValueError(f"{self.security_protocol} needs {missing}")
            fitting |= sasl
        if self.security_protocol.endswith("SSL"):
            fitting |= {name for name in type(self).model_fields if name.startswith("ssl_")}
        for idle in sorted(given - fitting):
            raise ValueError(f"{idle} has no effect with {self.security_protocol}")
        if len(given & {"ssl_certificate", "ssl_key"}) == 1:
            raise ValueError("ssl_certificate and ssl_key belong together")
        return self


class Source(Section):
    """Where events come from, and their form."""

    topic: str
    """The topic that the events are in. Jobs that merge are told the topic again, on their command line.

    Example: topic = "parcels"
    """
    format: Literal["json", "avro"] = "json"
    """The form of a record's value. `avro` needs `[source.registry]`.

    Example: format = "avro"
    """
    columns: dict[Column, Kind] = Field(min_length=1)
    """The columns that an event brings, with their [types](#types-of-columns). What an event has besides is ignored;
    what it lacks is null.

    Example: columns = { parcel_id = "string", posted_on = "date", weight = "decimal(10,2)", scanned_at = "timestamp" }
    """
    null_value: Literal["delete", "skip", "quarantine"] = "quarantine"
    """What a record without a value means: `delete` the row of its message key, count it and `skip` it, or keep it in
    `quarantine`.

    Example: null_value = "skip"
    """
    max_records_per_batch: int = Field(default=100_000, ge=1)
    """The most records that one commit settles.

    Example: max_records_per_batch = 50_000
    """
    max_record_bytes: int = Field(default=1_048_576, ge=1)
    """A longer value is quarantined as `OVERSIZED`. With Avro it is 16777216 at most.

    Example: max_record_bytes = 65_536
    """
    kafka: Kafka | None = None
    """How the cluster lets us in."""
    registry: Registry | None = None
    """Where the Avro schemas are."""

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


class SchemaChanges(Section):
    """What to do where the table's columns are not those of this file; whatever else differs stops the job."""

    added: Literal["apply", "stop"] = "apply"
    """A declared column that the table lacks: `apply` adds it before the first batch.

    Example: added = "stop"
    """
    widened: Literal["apply", "stop"] = "apply"
    """A column whose type Delta can widen to the declared one, such as int to bigint: `apply` widens it.

    Example: widened = "stop"
    """
    undeclared: Literal["stop", "keep", "null"] = "stop"
    """A column of the table that this file does not declare: `keep` leaves its old value in a row that an event
    changes, `null` sets it null.

    Example: undeclared = "keep"
    """


class Target(Section):
    """The Delta table that events settle in: where it lies and what it is called, if the file says so, and its form."""

    path: str | None = Field(default=None, min_length=1)
    """Where the table lies, for commands that are not told: a folder, from the project's folder unless it begins with
    `/`, or a URI.

    Example: path = "var/delta/parcels"
    """
    name: Column | None = None
    """What the table is called in `submit/pyspark.sh`. By default, as its folder.

    Example: name = "parcels"
    """
    keys: list[Column] = Field(min_length=1)
    """The columns that tell rows apart: an event with a new key adds a row, another one replaces the row of its key. A
    key is never null.

    Example: keys = ["parcel_id"]
    """
    sequence: Column = POSITION
    """Which of two events of a key is newer: the one with the greater value in this column, or, by `position`, the
    later one in the topic.

    Example: sequence = "scanned_at"
    """
    lineage: bool = False
    """Adds the column `_alluvium` to the table: the topic, partition, offset and transaction that each row is from.

    Example: lineage = true
    """
    derived: dict[Column, str] = Field(default_factory=dict)
    """Further columns, as SQL expressions on `source.columns` and on those that stand before.

    Example: derived = { posted_month = "substring(CAST(posted_on AS STRING), 1, 7)" }
    """
    partition_by: list[Column] = Field(default_factory=list)
    """The columns that divide the table into folders.

    Example: partition_by = ["posted_month"]
    """
    immutable: list[Column] = Field(default_factory=list)
    """Columns of which you promise that they never change for a key.

    Example: immutable = ["posted_month"]
    """
    prune_by: list[Column] = Field(default_factory=list)
    """Columns by which a batch leaves files unread that cannot hold its keys: keys or `immutable` ones, of type int,
    bigint, date, timestamp or string.

    Example: prune_by = ["posted_month"]
    """
    properties: dict[str, str] = Field(default_factory=dict)
    """Properties that Delta gives the table when it is created. Their values are texts.

    Example: properties = { "delta.checkpointInterval" = "50" }
    """
    schema_changes: SchemaChanges = SchemaChanges()
    """What to do where the table's columns are not those of this file."""

    @property
    def table_name(self) -> str | None:
        """What the table is called where tables have names: as its folder, unless the file says otherwise."""
        return self.name or (None if self.path is None else self.path.rstrip("/").rpartition("/")[2])

    @property
    def ordering(self) -> str | None:
        """The column that orders the events of a key; None where their place in the topic does."""
        return None if self.sequence == POSITION else self.sequence

    @model_validator(mode="after")
    def transactions_are_kept(self) -> Self:
        for name in self.properties:
            if name.lower() == TRANSACTION_RETENTION.lower():
                raise ValueError(
                    f"properties: with {name} the table would forget its transactions, and with them where to go on"
                )
        return self

    @model_validator(mode="after")
    def the_table_has_a_name(self) -> Self:
        if self.path is None and self.name is not None:
            raise ValueError("name has no effect without path")
        if self.table_name is not None and IDENTIFIER.fullmatch(self.table_name) is None:
            raise ValueError(f"path ends in '{self.table_name}', which is no name of a table; say one in name")
        return self


class Rule(Section):
    """What every event must fulfil, as an SQL condition that the pipeline's owner writes on purpose."""

    name: Column
    """What the rule is called: its records are quarantined as `RULE_NAME`.

    Example: name = "plausible_weight"
    """
    check: str
    """An SQL condition on the columns, derived ones too. Who does not fulfil it is quarantined.

    Example: check = "weight > 0"
    """


class Quality(Section):
    """When an event is turned away, and when so many are that the pipeline stops instead."""

    rules: list[Rule] = Field(default_factory=list)
    """What every event must fulfil."""
    max_bad_ratio: float = Field(default=1.0, ge=0, le=1)
    """The share of a batch that may be quarantined. Beyond it nothing is written and the job fails.

    Example: max_bad_ratio = 0.1
    """


class Late(Section):
    """Events too old or too far in the future, by an event column against the record's own timestamp."""

    column: Column
    """The column with the event's own time: a timestamp, a text that is one, or a number of seconds since 1970.

    Example: column = "scanned_at"
    """
    bound: Duration | None = None
    """An event that is older than its record by more than this is late. Without it none is.

    Example: bound = "30d"
    """
    action: Literal["discard", "keep"] = "discard"
    """What becomes of a late event, which is not merged: it is only counted, or kept in the table DELTA_DIR_late, too.

    Example: action = "keep"
    """
    future_bound: Duration | None = None
    """An event that is ahead of its record by more than this is quarantined as `FUTURE`. Without it none is.

    Example: future_bound = "1h"
    """


class Pipeline(Section):
    """One pipeline file."""

    name: Column
    """The name of the file, without `.toml`. It does not stand in the file."""
    source: Source
    """Where events come from, and their form."""
    target: Target
    """The table that they settle in."""
    quality: Quality = Quality()
    """When an event is turned away."""
    late: Late | None = None
    """When an event is too old, or too far in the future."""

    @model_validator(mode="after")
    def columns_exist(self) -> Self:
        refuse_ambiguous(self)
        known = self.columns
        named = {
            f"target.{part}": getattr(self.target, part) for part in ("keys", "partition_by", "immutable", "prune_by")
        }
        if self.target.sequence != POSITION:
            named["target.sequence"] = [self.target.sequence]
        if self.late is not None:
            named["late.column"] = [self.late.column]
        for part, names in named.items():
            for name in names:
                if names.count(name) > 1:
                    raise ValueError(f"{part}: '{name}' stands there twice")
                if name not in known:
                    raise ValueError(f"{part}: no column '{name}'{nearest(name, known)}")
        refuse_nested(self, named)
        refuse_unclear_deletes(self)
        refuse_unsound_pruning(self)
        return self

    def __hash__(self) -> int:
        """Equal pipelines have equal names: what is made of a pipeline can be kept for it."""
        return hash(self.name)

    @property
    def columns(self) -> list[str]:
        """The table's columns: the events' own, then the derived ones."""
        return [*self.source.columns, *self.target.derived]

    @property
    def deletes(self) -> bool:
        """Whether a record without a value deletes the row of its key."""
        return self.source.null_value == "delete"


def refuse_unclear_deletes(pipeline: Pipeline) -> None:
    """All that a tombstone has is its message key and its place: they must be enough to find and to order the row."""
    if not pipeline.deletes:
        return
    if pipeline.target.sequence != POSITION:
        raise ValueError(
            f"source.null_value: 'delete' needs target.sequence = '{POSITION}', because a record without a value "
            f"has no '{pipeline.target.sequence}'"
        )
    derived = [key for key in pipeline.target.keys if key in pipeline.target.derived]
    if derived:
        raise ValueError(
            f"source.null_value: 'delete' finds the row by the message key, and key '{derived[0]}' is derived; "
            "let target.keys name columns of source.columns only"
        )


def refuse_nested(pipeline: Pipeline, named: Mapping[str, list[str]]) -> None:
    """What finds, orders or divides rows is one plain value: of a nested one nobody could say which is greater."""
    for part, names in named.items():
        for name in names:
            kind = pipeline.source.columns.get(name)
            if part != "target.immutable" and kind is not None and not is_plain(kind):
                raise ValueError(f"{part}: '{name}' is {kind}; name a column of {', '.join(PLAIN)}")


def refuse_unsound_pruning(pipeline: Pipeline) -> None:
    """Where a key's row may have another value than the batch, the MERGE would not find it, and insert a second."""
    target = pipeline.target
    for name in target.prune_by:
        if name not in {*target.keys, *target.immutable}:
            raise ValueError(
                f"target.prune_by: '{name}' is not a key; list it in target.immutable if it never changes for a key"
            )
        kind = pipeline.source.columns.get(name)
        if kind is not None and kind not in PRUNABLE:
            raise ValueError(f"target.prune_by: '{name}' is {kind}; columns to prune by are {', '.join(PRUNABLE)}")


def refuse_ambiguous(pipeline: Pipeline) -> None:
    """Names that would mean two things: Spark ignores their case, and the engine has columns of its own."""
    seen: set[str] = set()
    for name in pipeline.columns:
        if name.lower() in seen:
            raise ValueError(f"column '{name}' is declared twice")
        if name.startswith("_"):
            raise ValueError(f"column '{name}': names that begin with an underscore are the engine's own")
        seen.add(name.lower())
    if POSITION in seen and pipeline.target.sequence == POSITION:
        raise ValueError(f"target.sequence: '{POSITION}' is the place in the topic, and a column has the same name")


def nearest(name: str, known: list[str]) -> str:
    match = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean '{match[0]}'?" if match else f"; known: {', '.join(known)}"


def read_pipeline(name: str) -> Pipeline:
    """The pipeline called NAME, validated whole before Spark starts."""
    folder = pipelines_dir()
    path = folder / f"{name}.toml"
    if not path.is_file():
        known = sorted(file.stem for file in folder.glob("*.toml"))
        raise ConfigurationError(f"no pipeline '{name}'", f"it would be {path}; there are: {', '.join(known)}")
    try:
        content = tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: {error}", "correct the file") from error
    try:
        return Pipeline.model_validate({**content, "name": name})
    except ValidationError as error:
        raise ConfigurationError(f"{path}: {first_problem(error)}", "correct the file") from error


def first_problem(error: ValidationError, model: type[Section] | None = None) -> str:
    """The first thing that is wrong, by its path in the file; for an unknown key also the nearest valid one."""
    # A misspelt key is also a missing one: name the misspelling.
    problem = min(error.errors(include_url=False), key=lambda each: each["type"] != "extra_forbidden")
    where = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        known = valid_keys(problem["loc"][:-1], model or Pipeline)
        return f"unknown key '{where}'{nearest(str(problem['loc'][-1]), known)}"
    message = problem["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" if where else message


def valid_keys(path: tuple[int | str, ...], model: Any) -> list[str]:
    for part in path:
        if isinstance(part, str):
            annotation = model.model_fields[part].annotation
            model = next((each for each in get_args(annotation) if hasattr(each, "model_fields")), annotation)
    # The name of a file does not stand in it.
    return [key for key in model.model_fields if key != "name" or path]
