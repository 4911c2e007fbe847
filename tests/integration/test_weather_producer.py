"""The producer and a real broker."""

import json
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.support.waiting import await_true

PROJECT = Path(__file__).resolve().parents[2]
HOURS = 500
MASTER = [
    {"location_id": 2, "name": "London", "latitude": 51.5, "longitude": -0.099990845},
    {"location_id": 4, "name": "Bangalore", "latitude": 13.0, "longitude": 77.600006},
]


@pytest.fixture
def files(tmp_path):
    """Two places, 500 hours, and each hour of the first 100 a second time, corrected."""
    readings = [
        {"location_id": place, "time": f"2023-{1 + hour // 672:02d}-{1 + hour % 672 // 24:02d}T{hour % 24:02d}:00"}
        for hour in [*range(HOURS), *range(100)]
        for place in (2, 4)
    ]
    weather, master = tmp_path / "weather.json", tmp_path / "master.json"
    weather.write_text("".join(json.dumps({**row, "temperature_2m": n / 10}) + "\n" for n, row in enumerate(readings)))
    master.write_text("".join(json.dumps(row) + "\n" for row in MASTER))
    return weather, master


@pytest.fixture
def topic(broker):
    name = f"temperatures-{uuid.uuid4().hex[:8]}"
    broker.create_topic(name, partitions=3)
    return name


@pytest.fixture
def produce(broker, files, tmp_path):
    def run(*arguments, brokers=broker.address):
        return subprocess.run(
            [sys.executable, "-m", "jobs.weather_producer", *map(str, [*files, "--brokers", brokers, *arguments])],
            cwd=PROJECT,
            env={**os.environ, "ALLUVIUM_LOG_DIR": str(tmp_path / "log")},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


def consume(address, topic):
    """Every message of the topic up to the ends seen now, partition by partition."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": uuid.uuid4().hex, "enable.auto.commit": False})
    partitions = [TopicPartition(topic, number, 0) for number in range(3)]
    wanted = sum(consumer.get_watermark_offsets(partition, timeout=10)[1] for partition in partitions)
    consumer.assign(partitions)
    messages = []
    while len(messages) < wanted:
        batch = consumer.consume(wanted - len(messages), timeout=10)
        assert batch, f"{len(messages)} of {wanted} messages came"
        assert all(message.error() is None for message in batch)
        messages += batch
    consumer.close()
    return messages


def test_a_signal_ends_it_when_what_was_sent_is_confirmed(broker, topic, files, tmp_path):
    how = f"--brokers {broker.address} --topic {topic} --rate 20".split()
    job = subprocess.Popen(
        [sys.executable, "-m", "jobs.weather_producer", *map(str, files), *how],
        cwd=PROJECT,
        env={**os.environ, "ALLUVIUM_LOG_DIR": str(tmp_path / "log")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    await_true(lambda: job.poll() is not None or bool(consume(broker.address, topic)), "a record")
    assert job.poll() is None
    job.send_signal(signal.SIGTERM)
    out, complained = job.communicate(timeout=60)
    sent = len(consume(broker.address, topic))
    assert 0 < sent < 1200
    told = f"stopped by SIGTERM after {sent} confirmed records; send again: the merge takes a record twice without harm"
    assert (job.returncode, out, complained.splitlines()[-1]) == (143, "", told)


def test_every_reading_arrives_once_with_its_bytes(broker, topic, produce, files):
    done = produce("--topic", topic)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"Sent 1200 records to {topic} on {broker.address}\n"
    messages = consume(broker.address, topic)
    places = {place["location_id"]: place for place in MASTER}
    expected = set()
    for line in files[0].read_text().splitlines():
        row = json.loads(line)
        place = places[row["location_id"]]
        key = f'{{"latitude":{place["latitude"]},"longitude":{place["longitude"]},"time":"{row["time"]}"'
        expected.add((f"{key}}}".encode(), f'{key},"temperature_2m":{row["temperature_2m"]}}}'.encode()))
    assert len(messages) == 1200
    assert {(message.key(), message.value()) for message in messages} == expected


def test_all_versions_of_a_key_stand_in_one_partition_in_order(broker, topic, produce):
    produce("--topic", topic)
    versions = {}
    for message in consume(broker.address, topic):
        temperature = json.loads(message.value())["temperature_2m"]
        versions.setdefault(message.key(), []).append((message.partition(), message.offset(), temperature))
    assert sum(len(each) == 2 for each in versions.values()) == 200
    for each in versions.values():
        assert len({partition for partition, _, _ in each}) == 1
        assert [version[2] for version in sorted(each)] == sorted(version[2] for version in each)
    assert len({partition for each in versions.values() for partition, _, _ in each}) == 3


def test_a_limit_and_a_rate_send_just_that_many(broker, topic, produce):
    done = produce("--topic", topic, "--limit", 30, "--rate", 100)
    assert done.stdout == f"Sent 30 records to {topic} on {broker.address}\n"
    assert len(consume(broker.address, topic)) == 30


def test_a_dry_run_sends_nothing(broker, topic, produce):
    done = produce("--topic", topic, "--dry-run")
    assert done.stdout.startswith(f"Would send 1200 records to {topic} on {broker.address}")
    assert consume(broker.address, topic) == []


def test_a_missing_topic_is_an_error_and_stays_missing(broker, produce):
    done = produce("--topic", "never-created")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: no topic 'never-created'")
    assert done.stderr.count("\n") == 1
    topics = AdminClient({"bootstrap.servers": broker.address}).list_topics(timeout=10).topics
    assert "never-created" not in topics


def test_a_broken_line_at_the_end_sends_nothing(broker, topic, produce, files):
    with files[0].open("a") as file:
        file.write('{"location_id":9,"time":"2023-01-01T00:00","temperature_2m":1.0}\n')
    done = produce("--topic", topic)
    assert done.returncode == 2
    assert "line 1201" in done.stderr
    assert consume(broker.address, topic) == []
