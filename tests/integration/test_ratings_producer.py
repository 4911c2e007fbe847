"""The producer of test events, as a user starts it, with a real broker and a real registry."""

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from datasets.ratings.events import events
from datasets.ratings.schemas import VERSIONS
from kafka_docker.embedded.ports import free_port
from kafka_docker.embedded.registry import Registry
from tests.integration.test_weather_producer import consume
from tests.support.broker import Broker
from tests.support.commands import ROOT, clean_environment, run

COMMAND = ROOT / "submit" / "ratings_producer.sh"
NOW = 1_700_000_000


@pytest.fixture(autouse=True)
def built() -> None:
    assert run([ROOT / "build.sh"]).returncode == 0


def test_five_versions_reach_the_topic_keyed_and_in_order(broker: Broker, registry: Registry, topic: str) -> None:
    arguments = ["--brokers", broker.address, "--registry", registry.url, "--topic", topic, "--at", str(NOW)]
    done = run([COMMAND, *arguments, "--count", "500", "--seed", "3"])
    assert (done.returncode, done.stdout) == (0, f"Sent 500 events to {topic} on {broker.address}\n"), done.stderr
    assert "HTTP" not in done.stderr
    subject = SchemaRegistryClient({"url": registry.url}).get_versions(f"{topic}-value")
    assert subject == list(VERSIONS)
    sent = list(events(3, 500, NOW))
    found: dict[str, list[bytes]] = {}
    for message in consume(broker.address, topic):
        found.setdefault(message.key().decode(), []).append(message.value())
    assert {key: len(values) for key, values in found.items()} == {
        key: sum(event.key == key for event in sent) for key in {event.key for event in sent}
    }
    whole = [value for values in found.values() for value in values if len(value) > 5 and value[:2] == b"\x00\x00"]
    assert len({value[:5] for value in whole}) == 5
    again = run([COMMAND, *arguments, "--count", "5"])
    assert again.returncode == 0, again.stderr


def test_what_is_not_there_is_named(broker: Broker, registry: Registry, topic: str) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    done = run([COMMAND, "--brokers", broker.address, "--topic", topic, "--registry", nobody])
    assert (done.returncode, done.stdout) == (75, "")
    assert done.stderr.startswith(f"error: no schema registry answers at {nobody}")
    done = run([COMMAND, "--brokers", broker.address, "--topic", "nobody"], environment=clean_environment())
    assert done.returncode == 2
    assert "no topic 'nobody'" in done.stderr


def test_a_dry_run_needs_nobody() -> None:
    done = run([COMMAND, "--dry-run", "--count", "7", "--at", str(NOW)])
    assert done.returncode == 0
    assert done.stdout.startswith("Would send 7 events to ratings on localhost:9092, the first: {'event_id': ")
