"""What the warm-up is worth: how soon the first event is readable, and how far the table is behind for a minute.

Events come at a constant rate from the moment that the job has read its table. Nothing waits before: where more than a
few records wait, there is no warm-up.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Producer

from common.model.position import position_in
from kafka_docker.embedded.kafka import Kafka
from kafka_docker.embedded.ports import free_port
from tests.support.broker import Broker
from tests.support.commands import ROOT, clean_environment, run
from tests.support.waiting import await_true

RATE, SECONDS, TRIGGER = 200, 60, "200 milliseconds"
SETTLED = 500
READY = "Reading the messages from KAFKA topic"
PIPELINE = """
[source]
topic = "events"
columns = { id = "bigint", part = "string", degrees = "double" }
[target]
keys = ["id"]
"""
# A named fault point leaves the warm-up out. Of these, no job that merges comes to this one.
WITHOUT = {"ALLUVIUM_FAULT": "optimize", "ALLUVIUM_FAULT_FILE": "unused"}


@dataclass(frozen=True)
class Start:
    """What was seen of one start. `behind` has the age of the oldest event that was not readable, by tenths."""

    first_event: float
    behind: list[float]
    load: float

    def cells(self) -> list[str]:
        by_ten = [statistics.mean(self.behind[first : first + 100]) for first in range(0, SECONDS * 10, 100)]
        return [f"{self.first_event:.1f}", f"{max(self.behind):.1f}", *(f"{mean:.2f}" for mean in by_ten)]


class Bench:
    """One topic and one table, for one start after another."""

    def __init__(self, folder: Path, broker: Broker) -> None:
        self._folder, self._broker = folder, broker
        self._topic, self._table = broker.create_topic(), folder / "table"
        self._environment = {
            "ALLUVIUM_PIPELINES": str(folder),
            "ALLUVIUM_LOG_DIR": str(folder / "log"),
            "ALLUVIUM_REPORT_DIR": str(folder / "reports"),
        }
        (folder / "events.toml").write_text(PIPELINE)

    def settle_some(self) -> None:
        """A warm-up needs records to try."""
        self._broker.produce(self._topic, [event(number) for number in range(SETTLED)])
        merge = ["streaming_merge.sh", "--mode", "batch", "--once", *self._place()]
        for script, *arguments in (["create_table.sh", "events", str(self._table)], merge):
            environment = clean_environment(**self._environment)
            done = run([ROOT / "submit" / script, *arguments], environment=environment)
            assert done.returncode == 0, done.stderr

    def start(self, number: int, *, is_warm: bool) -> Start:
        """Start the job, send the events of a minute, and stop it when the table has the last one."""
        before, load, output = readable(self._table)[-1][1], os.getloadavg()[0], self._folder / f"output-{number}"
        with output.open("ab") as target:
            job = subprocess.Popen(
                [ROOT / "submit/streaming_merge.sh", "--mode", "stream", "--trigger", TRIGGER, *self._place()],
                cwd=ROOT,
                env=clean_environment(**self._environment, **({} if is_warm else WITHOUT)),
                stdin=subprocess.DEVNULL,
                stdout=target,
                stderr=subprocess.STDOUT,
            )
        try:
            await_true(lambda: READY in output.read_text(), "the job", 120, pause=0.01)
            sent = self._send(before)
            await_true(lambda: readable(self._table)[-1][1] >= before + len(sent), "the last event", 120)
        finally:
            job.terminate()
            job.wait(60)
        assert ("warmed up" in output.read_text()) == is_warm, output.read_text()[-2000:]
        commits = [(when, records - before) for when, records in readable(self._table)]
        return seen(sent, commits, load)

    def _place(self) -> list[str]:
        return ["--pipeline", "events", str(self._table), self._broker.address, self._topic]

    def _send(self, first: int) -> list[float]:
        """Send the events of a minute, those of a twentieth of a second at a time; return the time of each."""
        producer = Producer({"bootstrap.servers": self._broker.address})
        began, sent = time.time(), []
        for tick in range(SECONDS * 20):
            time.sleep(max(0.0, began + tick / 20 - time.time()))
            for number in range(first + len(sent), first + len(sent) + RATE // 20):
                key, value = event(number)
                producer.produce(self._topic, value, key)
            producer.poll(0)
            sent += [time.time()] * (RATE // 20)
        assert producer.flush(30) == 0
        return sent


def event(number: int) -> tuple[bytes, bytes]:
    key = json.dumps({"id": number})
    content = {"id": number, "part": "abc"[number % 3], "degrees": random.random()}
    return key.encode(), json.dumps(content).encode()


def readable(table: Path) -> list[tuple[float, int]]:
    """The time of each commit, and how many records the table has read by it."""
    found = []
    for entry in sorted((table / "_delta_log").glob("*.json")):
        infos = [json.loads(line) for line in entry.read_text().splitlines() if line.startswith('{"commitInfo"')]
        position = position_in(infos[0]["commitInfo"].get("userMetadata")) if infos else None
        if position is not None:
            found.append((entry.stat().st_mtime, sum(position.offsets.values())))
    return found


def seen(sent: list[float], commits: list[tuple[float, int]], load: float) -> Start:
    """`commits` count from the first of the events that were sent."""
    began = sent[0]
    first = next(when for when, records in commits if records > 0) - began
    behind = []
    for tenth in range(SECONDS * 10):
        now = began + tenth / 10
        done = max(records for when, records in commits if when <= now)
        behind.append(max(0.0, now - sent[done]) if done < len(sent) else 0.0)
    return Start(first, behind, load)


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        kafka = Kafka(home=Path(name), port=free_port())
        kafka.start()
        try:
            bench = Bench(Path(name), Broker(kafka.address))
            bench.settle_some()
            for number in range(rounds * 2):
                is_warm = number % 2 == 0
                start = bench.start(number, is_warm=is_warm)
                cells = ["with" if is_warm else "without", *start.cells(), f"{start.load:.1f}"]
                print(f"| {' | '.join(cells)} |", flush=True)
        finally:
            kafka.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
