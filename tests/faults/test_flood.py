"""Half a million hostile events into three tables: by batches, by the stream, and by both in turn under kills."""

import random
import time
from pathlib import Path

import pytest

from common.engine.run_report import read_report
from kafka_docker.embedded.kafka import Kafka
from tests.faults.deaths import MODES
from tests.faults.events import Shares
from tests.faults.model import committed
from tests.faults.world import World
from tests.support.broker import Broker

EVENTS = 500_000
SHARES = Shares(repeated=0.2, disordered=0.1, broken=0.01, late=0.005, future=0.002, implausible=0.002, null=0.001)


@pytest.fixture(scope="module")
def world(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("flood") / "world"
    broker = Broker(kafka.address)
    flood = World(folder, broker, seed=20, shares=SHARES, keys=50_000, max_records=60_000, java="")
    flood.produce(EVENTS)
    return flood


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mode", MODES)
def test_one_mode_alone_settles_the_flood(world: World, mode: str) -> None:
    table = world.folder / mode
    world.load(table)
    world.complete(world.merge(mode, table=table), seconds=3000)
    assert_equals_model(world, table)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_both_modes_in_turn_under_kills_settle_the_flood(world: World) -> None:
    table, chance, killed = world.folder / "turns", random.Random(4), 0
    world.load(table)
    while world.unread(table):
        job = world.merge(chance.choice(MODES), table=table)
        # By its progress, so that a slow machine gets on too; at once, or some seconds after its next batch or two.
        far_enough = committed(table).seq + chance.randint(0, 2)
        while job.is_running() and committed(table).seq < far_enough:
            time.sleep(0.2)
        killed += job.kill_after(chance.uniform(0, 15))
    assert killed > 2
    print(f"\n{killed} jobs were killed on the way")
    assert_equals_model(world, table)


def assert_equals_model(world: World, table: Path) -> None:
    assert world.unread(table) == 0
    difference = world.difference(table)
    print(f"\n{table.name}: {difference}; stale events that reached the MERGE: {superseded(world, table)}")
    assert not difference
    assert superseded(world, table) > 0


def superseded(world: World, table: Path) -> int:
    reports = [read_report(path) for path in (world.folder / "reports").glob("*.json")]
    return sum(report.totals.superseded for report in reports if report.table == str(table))
