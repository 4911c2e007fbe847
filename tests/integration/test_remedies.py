"""Every command that an error prints as its remedy is run as it is printed; afterwards, what had failed succeeds."""

import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from delta.tables import DeltaTable

from common.delta.feed_readers import Reader, Readers
from common.delta.open_ledger import open_ledger
from common.drivers.batch_loop import BatchLoop
from common.engine.start import resolve_inputs, start_from_table
from common.errors import AlluviumError, BrokerUnreachable, RegistryUnreachable, StateError, TopicMissing
from common.kafka.topic import TopicClient
from common.operations.base_load import load_base
from common.operations.epoch import propose_epoch
from common.operations.rewind import begin_epoch
from common.registry.client import Client
from common.settings.locations import location
from common.settings.remedies import forget
from kafka_docker.embedded.ports import free_port
from tests.support.aging import age
from tests.support.commands import clean_environment, complaints, run
from tests.support.frames import frame
from tests.support.partitions import of_topic
from tests.support.remedies import literal_commands, printed_commands, raised_in, sites, type_command
from tests.support.trial import BASE, Trial, event, pipeline

FILE = """
[source]
topic = "{topic}"
null_value = "skip"
columns = {{ id = "bigint", part = "string", degrees = "double" }}
[target]
keys = ["id", "part"]
partition_by = ["part"]
[[quality.rules]]
name = "cool"
check = "degrees < {limit}"
"""
# As constants hold them: every argument that the script needs, in capitals.
WHOLE_COMMAND = re.compile(r"submit/\w+\.sh .*[A-Z]{5}|: kafka_docker/services$|: submit/(epoch\.sh )?$")
MERGE = ["submit/streaming_merge.sh", "--mode", "batch", "--once"]


class Desk(Trial):
    """A table, a topic and a pipeline file; what is typed is run as the job's script would run it."""

    def __init__(self, trial: Trial, folder: Path) -> None:
        self.__dict__.update(trial.__dict__)
        # A blank and a quote: what is printed must be quoted for a shell.
        self.folder = folder / "it's here"
        self.folder.mkdir()
        (folder / "table").rename(self.folder / "table")
        self.table = location(str(self.folder / "table"))
        self.files = folder / "pipelines"
        self.files.mkdir()
        self.write_file()
        self.pipeline = pipeline(self.topic)
        # What no job can know: the words in capitals that a remedy keeps.
        self.given: dict[str, str] = {}

    def write_file(self, *, limit: int = 1000, name: str = "trial") -> None:
        (self.files / f"{name}.toml").write_text(FILE.format(topic=self.topic, limit=limit))

    def typed(self, *script: str) -> list[str]:
        return [*script, "--pipeline", "trial", str(self.table), self.broker.address, self.topic]

    def beside(self, *script: str) -> list[str]:
        return [*script, "--pipeline", "trial", str(self.table)]

    def start(self) -> list[str]:
        """A run that ends before its first batch: whatever refuses a table or a topic does so before."""
        return [*self.merge(), "--dry-run"]

    def merge(self) -> list[str]:
        return self.typed(*MERGE)

    def produce(self, *numbers: int, partition: int = 0, degrees: float = 1.0) -> None:
        self.broker.produce(self.topic, [event(number, "b", degrees) for number in numbers], partition=partition)

    def begin_at(self, offsets: dict[int, int]) -> None:
        """A position that this topic does not have."""
        ledger = open_ledger(self.spark, self.table.uri, "trial")
        topic_ids = TopicClient(self.broker.address, self.topic).ids()
        proposed = propose_epoch(ledger, topic_ids, offsets=of_topic(self.topic, offsets), before={})
        begin_epoch(self.spark, self.table.uri, proposed)


@pytest.fixture
def desk(trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setenv("ALLUVIUM_PIPELINES", str(tmp_path / "pipelines"))
    monkeypatch.setenv("ALLUVIUM_REPORT_DIR", str(tmp_path / "reports"))
    yield Desk(trial, tmp_path)
    forget()


# Gives the command that fails, or what else does; then the merge is what must succeed afterwards.
Situation = Callable[[Desk], list[str] | Callable[[], None]]


def vanished_partition(desk: Desk) -> list[str]:
    desk.begin_at({0: 0, 1: 0, 2: 0, 7: 0})
    return desk.start()


def lost_records(desk: Desk) -> list[str]:
    desk.begin_at({0: 0, 1: 0, 2: 0})
    desk.produce(4, 5, 6)
    desk.broker.delete_records(desk.topic, 0, before=3)
    return desk.start()


def position_behind_the_end(desk: Desk) -> list[str]:
    desk.begin_at({0: 9, 1: 0, 2: 0})
    return desk.start()


def recreated_topic(desk: Desk) -> list[str]:
    desk.begin_at({0: 0, 1: 0, 2: 0})
    desk.broker.recreate_topic(desk.topic)
    return desk.start()


def recreated_while_running(desk: Desk) -> Callable[[], None]:
    desk.produce(3)
    given = resolve_inputs("trial", str(desk.table), desk.broker.address, desk.topic)
    begun = BatchLoop(desk.spark, start_from_table(desk.spark, given))
    desk.broker.recreate_topic(desk.topic)
    desk.produce(4)
    return begun.drain


def table_of_a_stranger(desk: Desk) -> list[str]:
    rows = frame(desk.spark, BASE, "id bigint, part string, degrees double")
    rows.write.format("delta").partitionBy("part").save(str(desk.folder / "stranger"))
    desk.table = location(str(desk.folder / "stranger"))
    return desk.start()


def table_of_another_pipeline(desk: Desk) -> list[str]:
    desk.write_file(name="other")
    rows, table = desk.folder / "rows", location(str(desk.folder / "others"))
    frame(desk.spark, BASE, "id bigint, part string, degrees double").write.parquet(str(rows))
    other = pipeline(desk.topic).model_copy(update={"name": "other"})
    load_base(desk.spark, other, location(str(rows)), table, overwrite=False)
    desk.table = table
    return desk.start()


def epoch_on_the_table_of_another(desk: Desk) -> list[str]:
    table_of_another_pipeline(desk)
    return desk.typed("submit/epoch.sh", "--at", "end", "--execute")


def expired_log(desk: Desk) -> list[str]:
    """As in time: the log is checkpointed, the entry of the last transaction is gone, and so is its copy."""
    desk.begin_at({0: 0, 1: 0, 2: 0})
    table = DeltaTable.forPath(desk.spark, desk.table.uri)
    table.update("id = 1", {"degrees": "7"})
    delta_log = desk.spark._jvm.org.apache.spark.sql.delta.DeltaLog  # type: ignore[union-attr]
    delta_log.forTable(desk.spark._jsparkSession, desk.table.uri).checkpoint()
    for version in range(2):
        (Path(str(desk.table)) / "_delta_log" / f"{version:020d}.json").unlink()
    delta_log.clearCache()
    shutil.rmtree(Path(str(desk.table)) / "_alluvium")
    return desk.start()


def restored(desk: Desk) -> list[str]:
    desk.begin_at({0: 0, 1: 0, 2: 0})
    DeltaTable.forPath(desk.spark, desk.table.uri).restoreToVersion(0)
    return desk.start()


def overwritten(desk: Desk) -> list[str]:
    rows = frame(desk.spark, BASE, "id bigint, part string, degrees double")
    rows.write.format("delta").mode("overwrite").save(desk.table.uri)
    return desk.start()


def no_table(desk: Desk) -> list[str]:
    desk.table = location(str(desk.folder / "nowhere"))
    rows = desk.folder / "rows"
    frame(desk.spark, BASE, "id bigint, part string, degrees double").write.parquet(str(rows))
    desk.given["INPUT_DIR"] = str(rows)
    return desk.start()


def epoch_at_the_table_of_another_topic(desk: Desk) -> list[str]:
    recreated_topic(desk)
    return desk.typed("submit/epoch.sh", "--execute")


def loaded_twice(desk: Desk) -> list[str]:
    rows = desk.folder / "INPUT_DIR"
    frame(desk.spark, BASE, "id bigint, part string, degrees double").write.parquet(str(rows))
    return ["submit/temperatures_delta_processing.sh", "--pipeline", "trial", str(rows), str(desk.table)]


def no_parquet(desk: Desk) -> list[str]:
    (desk.folder / "empty").mkdir()
    table = str(desk.folder / "new")
    return ["submit/temperatures_delta_processing.sh", "--pipeline", "trial", str(desk.folder / "empty"), table]


def quarantined(desk: Desk) -> None:
    desk.write_file(limit=0)
    desk.produce(3, 4)
    type_command(desk.merge())


def reason_of_no_row(desk: Desk) -> list[str]:
    quarantined(desk)
    return desk.beside("submit/quarantine.sh", "show", "--reason", "RULE_cold")


def unknown_state(desk: Desk) -> list[str]:
    quarantined(desk)
    return desk.beside("submit/quarantine.sh", "show", "--state", "wating")


def key_in_two_partitions(desk: Desk) -> list[str]:
    desk.produce(3, partition=2)
    quarantined(desk)
    desk.write_file()
    return desk.beside("submit/quarantine.sh", "replay", "--reason", "RULE_cool", "--execute")


def short_retention(desk: Desk) -> list[str]:
    return ["submit/maintenance.sh", "vacuum", "--retain", "1h", "--execute", str(desk.table)]


def unread_versions(desk: Desk) -> list[str]:
    DeltaTable.forPath(desk.spark, desk.table.uri).delete("id = 1")
    age(desk.spark, Path(str(desk.table)), timedelta(days=8))
    Readers(desk.spark, desk.table.uri).write(Reader("replica", 0))
    return ["submit/maintenance.sh", "vacuum", "--execute", str(desk.table)]


def offset_that_is_not_there(desk: Desk) -> list[str]:
    return desk.typed("submit/rewind.sh", "--to-offset", "0=9", "--execute")


def altered(desk: Desk, clause: str) -> list[str]:
    desk.spark.sql(f"ALTER TABLE delta.`{desk.table.uri}` {clause}")
    return desk.start()


def append_only(desk: Desk) -> list[str]:
    return altered(desk, "SET TBLPROPERTIES ('delta.appendOnly' = 'True')")


def constraint_on_a_column_of_others(desk: Desk) -> list[str]:
    altered(desk, "ADD COLUMNS (city string)")
    file = desk.files / "trial.toml"
    file.write_text(f'{file.read_text()}\n[target.schema_changes]\nundeclared = "keep"\n')
    return altered(desk, "ADD CONSTRAINT `a city` CHECK (length(city) < 9 OR city IS NULL)")


def forgetful_table(desk: Desk) -> list[str]:
    return altered(desk, "SET TBLPROPERTIES ('delta.setTransactionRetentionDuration' = 'interval 1 hour')")


# By the function that raises: the situation it is for, and for each command that it then prints, whether that mends the
# situation, so that the same command succeeds afterwards; others replace the command, or show what to correct in it.
SITUATIONS: list[tuple[str, Situation, tuple[bool, ...]]] = [
    ("common.model.offsets:refuse_vanished", vanished_partition, (True,)),
    ("common.model.offsets:refuse_loss", lost_records, (True,)),
    ("common.model.offsets:refuse_overrun", position_behind_the_end, (True,)),
    ("common.engine.resume:refuse_other_topics", recreated_topic, (True,)),
    ("common.engine.resume:refuse_recreated", recreated_while_running, (True,)),
    ("common.delta.ledger:_refuse_without_position", table_of_a_stranger, (True, True)),
    ("common.delta.ledger:_refuse_without_position", table_of_another_pipeline, (False, True)),
    ("common.operations.adoption:refuse_foreign_table", epoch_on_the_table_of_another, (True,)),
    ("common.engine.table_fit:refuse_unfit", append_only, (True,)),
    ("common.engine.table_fit:refuse_unknown_columns", constraint_on_a_column_of_others, (True,)),
    ("common.delta.log:_refuse_forgetful", forgetful_table, (True,)),
    ("common.delta.ledger:_copied", expired_log, (True, True)),
    ("common.delta.ledger:_refuse_replaced", restored, (True,)),
    ("common.delta.ledger:_refuse_replaced", overwritten, (True, True)),
    ("common.settings.locations:require_delta_table", no_table, (True, True)),
    ("common.operations.epoch:offsets_of_rows", epoch_at_the_table_of_another_topic, (True, True)),
    ("common.operations.base_load:refuse_existing", loaded_twice, (False,)),
    ("common.settings.locations:require_parquet", no_parquet, (False,)),
    ("common.operations.quarantine:refuse_empty", reason_of_no_row, (False,)),
    ("common.operations.quarantine:selection_of", unknown_state, (False,)),
    ("common.operations.retention:refuse_unsafe", short_retention, (False,)),
    ("common.operations.retention:refuse_unread", unread_versions, (False,)),
    ("common.operations.rewind:choose", offset_that_is_not_there, (False,)),
]
LONG = pytest.mark.long
# Tried each time; the others are printed by the same few functions.
OFTEN = {
    lost_records,
    recreated_topic,
    table_of_a_stranger,
    epoch_on_the_table_of_another,
    append_only,
    constraint_on_a_column_of_others,
    restored,
    no_table,
}


def marks(situation: Situation, which: int) -> list[pytest.MarkDecorator]:
    """The first command of a situation that is tried each time, or long."""
    return [] if situation in OFTEN and which == 0 else [LONG]


CASES = [
    pytest.param(site, situation, mends, which, id=f"{situation.__name__}-{which}", marks=marks(situation, which))
    for site, situation, mends in SITUATIONS
    for which in range(len(mends))
]
# Of the services, which are processes of their own.
SERVICES = {
    "common.kafka.topic:_translate",
    "common.kafka.topic:_unreachable",
    "common.registry.client:_unreachable",
    "kafka_docker.embedded.broker:_translated",
    "kafka_docker.embedded.connect:start",
    "kafka_docker.embedded.service:require_running",
    "kafka_docker.embedded.service:_require_as_asked",
}


@pytest.mark.parametrize(("site", "situation", "mends", "which"), CASES)
def test_a_remedy_works_as_printed(
    desk: Desk, site: str, situation: Situation, mends: tuple[bool, ...], which: int
) -> None:
    made = situation(desk)
    failing, retried = (made, desk.start()) if callable(made) else (partial(type_command, made), made)
    with pytest.raises(AlluviumError) as refused:
        failing()
    assert raised_in(refused.value) == site
    commands = printed_commands(str(refused.value))
    assert len(commands) == len(mends), str(refused.value)
    type_command([desk.given.get(word, word) for word in commands[which]])
    if mends[which]:
        type_command(retried)


def test_every_command_that_is_printed_has_been_tried() -> None:
    replay = "common.operations.replay:refuse_keys_of_two_partitions"
    assert {site for site, _, _ in SITUATIONS} | SERVICES | {replay} == set(sites())


def test_commands_are_named_in_remedies_only() -> None:
    """A text with half a command in it would be printed as it stands."""
    assert [each for each in literal_commands() if not WHOLE_COMMAND.search(each)] == []


def test_replaying_one_partition_at_a_time_settles_a_key_of_two(desk: Desk) -> None:
    failing = key_in_two_partitions(desk)
    with pytest.raises(StateError, match="came from partitions 0 and 2") as refused:
        type_command(failing)
    for command in printed_commands(str(refused.value)):
        type_command(command)
    assert {number for number, _, _ in desk.rows()} == {1, 2, 3, 4}


def test_a_script_repeats_the_environment_that_it_was_given(desk: Desk, tmp_path: Path) -> None:
    """A job does not see --env, which its script keeps for itself."""
    steered = clean_environment(ALLUVIUM_PIPELINES=str(desk.files), ALLUVIUM_LOG_DIR=str(tmp_path / "log"))
    no_table(desk)
    for named in ([], ["--env", "local"]):
        refused = run([MERGE[0], *named, *desk.start()[1:]], environment=steered)
        (line,) = complaints(refused)
        assert printed_commands(line)[0] == ["submit/create_table.sh", *named, "trial", str(desk.table)]


@pytest.mark.long
def test_a_remedy_is_typed_at_a_shell(desk: Desk, tmp_path: Path) -> None:
    """The line as it stands on stderr, given to a shell: the same scripts that printed it."""
    steered = clean_environment(ALLUVIUM_PIPELINES=str(desk.files), ALLUVIUM_LOG_DIR=str(tmp_path / "log"))
    lost_records(desk)
    for _ in range(2):
        done = run(desk.merge(), environment=steered)
        for line in [line for line in complaints(done) if line.startswith("error: ")]:
            remedy = run(["bash", "-c", shlex.join(printed_commands(line)[0])], environment=steered)
            assert remedy.returncode == 0, remedy.stderr
    assert done.returncode == 0, done.stderr


def test_a_broker_and_a_topic_that_are_missing_are_started_and_created(tmp_path: Path) -> None:
    """From no broker to a topic, each step by the command that the step before printed."""
    port = free_port()
    steered = clean_environment(ALLUVIUM_SERVICES_DIR=str(tmp_path), ALLUVIUM_KAFKA_PORT=str(port))

    def services(*words: str) -> list[str]:
        """The remedy of a command that fails."""
        failed = run(["kafka_docker/services", *words], environment=steered)
        assert failed.returncode != 0
        (line,) = complaints(failed)
        (command,) = printed_commands(line)
        return command

    def do(command: list[str]) -> None:
        done = run(command, environment=steered)
        assert done.returncode == 0, done.stderr

    def missing(error: type[AlluviumError]) -> list[str]:
        with pytest.raises(error) as refused:
            TopicClient(f"127.0.0.1:{port}", "my.topic", timeout_seconds=5).describe()
        (command,) = printed_commands(str(refused.value))
        return command

    start, at_address = services("list-topics"), missing(BrokerUnreachable)
    assert at_address == [*start, "--port", str(port)]
    do(at_address)
    try:
        do(start)
        do(missing(TopicMissing))
        assert TopicClient(f"127.0.0.1:{port}", "my.topic").partitions()
        do(services("create-topic", "my.topic"))
        do(services("delete-topic", "another"))
        do(["kafka_docker/services", "logs", "kafka"])
    finally:
        do(services("start", "kafka", "--port", str(free_port())))
    assert missing(BrokerUnreachable) == at_address


@pytest.mark.long
def test_a_registry_that_is_missing_is_started(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}/apis/ccompat/v7"
    client = Client(url, patience_seconds=0.1)
    with pytest.raises(RegistryUnreachable) as refused:
        client.ask(lambda registry: registry.get_subjects())
    (command,) = printed_commands(str(refused.value))
    steered = clean_environment(ALLUVIUM_SERVICES_DIR=str(tmp_path))
    try:
        assert run(command, environment=steered).returncode == 0
        assert client.ask(lambda registry: registry.get_subjects()) == []
    finally:
        assert run(["kafka_docker/services", "stop", "registry"], environment=steered).returncode == 0
