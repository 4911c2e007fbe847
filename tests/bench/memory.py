"""How little memory ours needs: a merge into the largest table, by the real job with a heap of one GiB."""

import re
import subprocess
from time import monotonic

from common.kafka.topic import TopicClient
from tests.bench.batches import Batches
from tests.bench.cells import Base
from tests.bench.data import copy_delta
from tests.bench.results import Memory
from tests.bench.rounds import PARTITIONS, Sender, Stage, cleared
from tests.support.commands import ROOT, clean_environment, complaints, run

# Spark refuses -Xmx among Java options; the last word on the same size wins.
HEAP = "-XX:MaxHeapSize=1g"
CAPACITY = re.compile(r"Heap Max Capacity: (\d+)([MG])")
UNITS = {"M": 2**20, "G": 2**30}
TIMEOUT_SECONDS = 1800


def last_words(done: subprocess.CompletedProcess[str]) -> str:
    """What the job told of its batch, or why it failed."""
    said = complaints(done) if done.returncode else done.stdout.splitlines()
    return said[-1][:200] if said else ""


def merge_with_small_heap(stage: Stage, base: Base, seed: int) -> Memory:
    folder = cleared(stage.folder / "copies")
    table = copy_delta(stage.bases.delta(base), folder / "memory")
    topic = TopicClient(stage.broker.address, stage.broker.create_topic(partitions=PARTITIONS))
    rows = Batches(base, "newest-2000", seed).batch(0)
    Sender(stage.broker, topic).send(rows)
    log = folder / "gc.log"
    environment = clean_environment(
        ALLUVIUM_MASTER="local[2]",
        ALLUVIUM_LOG_DIR=str(folder / "log"),
        ALLUVIUM_REPORT_DIR=str(folder / "reports"),
        ALLUVIUM_DRIVER_JAVA_OPTIONS=f"{HEAP} -Xlog:gc+init:file={log}",
    )
    job = ROOT / "submit" / "streaming_merge.sh"
    arguments = ["--mode", "batch", "--once", str(table), topic.brokers, topic.names[0]]
    began = monotonic()
    done = run([job, *arguments], environment=environment, timeout=TIMEOUT_SECONDS)
    seconds = monotonic() - began
    stage.broker.delete_topic(topic.names[0])
    capacity = CAPACITY.search(log.read_text())
    assert capacity is not None, "the JVM did not say how large its heap is"
    return Memory(
        base=base.name,
        rows=len(rows),
        heap_bytes=int(capacity[1]) * UNITS[capacity[2]],
        exit_code=done.returncode,
        said=last_words(done).replace(str(ROOT), "."),
        seconds=round(seconds, 1),
    )
