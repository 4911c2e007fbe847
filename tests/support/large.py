"""Records of many bytes in all, and the memory that a job takes for them."""

import hashlib
import json
import random
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from confluent_kafka import Producer
from deltalake import DeltaTable

from common.waiting import tries
from tests.support.broker import Broker
from tests.support.commands import ROOT, clean_environment

GIBIBYTE = 2**30
COLUMNS = ("id", "revision", "text")
Row = tuple[int, int, str]


@dataclass(frozen=True)
class Shape:
    """How many records there are, and how many bytes they have in all."""

    name: str
    records: int
    bytes: int = GIBIBYTE

    def rows(self, revision: int) -> Iterator[Row]:
        """Yield the rows of a revision: the same ids each time, and other texts, that no format makes shorter."""
        chance = random.Random(f"{self.name} {revision}")
        length = self.bytes // self.records // 2
        for number in range(self.records):
            yield number, revision, chance.randbytes(length).hex()


MANY = Shape("many", 1_048_576)
# Of 900 kB each: below the default of max_record_bytes.
FEW = Shape("few", 1_165)
# Nearly as many as the driver collects: Spark holds each text twice, in the record and in the event.
COLLECTED = Shape("collected", 100_000, 100 * 2**20)


def produce(broker: Broker, topic: str, rows: Iterator[Row]) -> None:
    """Send each row by its key, with at most some megabytes on their way."""
    producer = Producer(
        {
            "bootstrap.servers": broker.address,
            "enable.idempotence": True,
            "message.max.bytes": 2_000_000,
            "queue.buffering.max.kbytes": 65_536,
            "linger.ms": 20,
        }
    )
    failed: list[object] = []
    for row in rows:
        value = json.dumps(dict(zip(COLUMNS, row, strict=True))).encode()
        while True:
            try:
                key = json.dumps({"id": row[0]})
                producer.produce(topic, value, key, on_delivery=lambda error, _: error and failed.append(error))
                break
            except BufferError:
                producer.poll(1)
        producer.poll(0)
    assert producer.flush(120) == 0
    assert not failed


@dataclass(frozen=True)
class Digest:
    """The number of rows, and a hash of them in which their order does not count."""

    rows: int
    hash: int


def digest_of(rows: Iterator[Row]) -> Digest:
    count, total = 0, 0
    for row in rows:
        count += 1
        total ^= int.from_bytes(hashlib.blake2b(repr(row).encode(), digest_size=16).digest())
    return Digest(count, total)


def rows_of(table: Path) -> Iterator[Row]:
    """Read a table without Spark, a part at a time."""
    for batch in DeltaTable(table).to_pyarrow_dataset().to_batches(columns=list(COLUMNS), batch_size=1024):
        for row in batch.to_pylist():
            yield row["id"], row["revision"], row["text"]


@dataclass(frozen=True)
class Peaks:
    """The most memory that the two processes of a job had at a time, in MiB."""

    jvm: int
    python: int


def run_measured(
    command: Sequence[str | Path], environment: dict[str, str], output: Path, seconds: float
) -> tuple[int, Peaks]:
    """Run a job to its end; return its exit code, and the peaks that the kernel has counted for its processes."""
    jvm = python = 0
    with (
        output.open("ab") as target,
        subprocess.Popen(
            [str(part) for part in command],
            cwd=ROOT,
            env=clean_environment(**environment),
            stdin=subprocess.DEVNULL,
            stdout=target,
            stderr=subprocess.STDOUT,
        ) as job,
    ):
        for _ in tries(seconds, 0.1):
            with suppress(psutil.NoSuchProcess, OSError):  # one of them has just ended
                jvm = max(jvm, peak(job.pid))
                python = max(python, *(peak(child.pid) for child in psutil.Process(job.pid).children()), 0)
            if job.poll() is not None:
                break
        else:
            job.kill()
    return job.returncode, Peaks(jvm, python)


def peak(pid: int) -> int:
    """Return the peak of a process's resident memory in MiB, which Linux keeps; 0 where it has ended."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM:")), 0)
