"""A broker as its clients see it: its answers and its topics."""

import socket
from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from common.errors import BrokerUnreachable, TopicMissing, UsageError
from common.settings.remedies import services
from common.waiting import await_true

PROBE_S = 2.0
BOUND_S = 15.0


def answers(address: str) -> bool:
    """True where the broker serves metadata and knows a controller."""
    if not _accepts_connections(address):
        return False  # so that librdkafka has no refused connection to back off from
    client = _client(address)
    try:
        cluster = client.describe_cluster(request_timeout=PROBE_S).result(timeout=PROBE_S + 1)
    except (KafkaException, TimeoutError):
        return False
    return cluster.controller is not None and bool(cluster.nodes)


def create_topic(
    address: str, topic: str, *, partitions: int | None, config: Mapping[str, str], if_not_exists: bool
) -> bool:
    """Create a topic; False where it exists already and `if_not_exists` allows that."""
    wanted = NewTopic(topic, num_partitions=partitions or -1, replication_factor=-1, config=dict(config))
    client = _client(address)
    try:
        client.create_topics([wanted], request_timeout=BOUND_S)[topic].result(timeout=BOUND_S + 1)
    except KafkaException as exception:
        if if_not_exists and exception.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return False
        raise _translated(exception, address, topic) from exception
    _await_topic(address, topic, there=True)
    return True


def delete_topic(address: str, topic: str) -> None:
    client = _client(address)
    try:
        client.delete_topics([topic], request_timeout=BOUND_S)[topic].result(timeout=BOUND_S + 1)
    except KafkaException as exception:
        raise _translated(exception, address, topic) from exception
    _await_topic(address, topic, there=False)


def topics(address: str) -> dict[str, int]:
    """Return names and numbers of partitions, without the broker's own topics (`__…`)."""
    try:
        found = _client(address).list_topics(timeout=BOUND_S).topics
    except KafkaException as exception:
        raise _translated(exception, address, "") from exception
    return {name: len(found[name].partitions) for name in sorted(found) if not name.startswith("__")}


def _await_topic(address: str, topic: str, *, there: bool) -> None:
    """Wait until the broker's own metadata show the change, because the controller confirms it before that."""
    if not await_true(lambda: (topic in topics(address)) == there, BOUND_S):
        state = "appear" if there else "disappear"
        raise BrokerUnreachable(f"topic {topic} did not {state} within {BOUND_S:.0f} s", "look at the broker's log")


def _translated(exception: KafkaException, address: str, topic: str) -> UsageError | BrokerUnreachable:
    error: KafkaError = exception.args[0]
    if error.code() == KafkaError.TOPIC_ALREADY_EXISTS:
        return UsageError(
            f"topic {topic} exists already",
            f"add --if-not-exists if that is fine: {services('create-topic', topic, '--if-not-exists')}",
        )
    if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
        return TopicMissing(f"there is no topic {topic}", f"see {services('list-topics')}")
    if error.code() < 0:  # librdkafka's own: it did not get as far as the broker's answer
        return BrokerUnreachable(
            f"no answer from the broker at {address}: {error.str()}", f"see {services('logs', 'kafka')}"
        )
    return UsageError(f"the broker refused topic {topic}: {error.str()}", "correct the name or the settings")


def _client(address: str) -> AdminClient:
    """Build a client. Keep it in a variable: one that is garbage-collected gives up its requests before the answers."""
    return AdminClient({"bootstrap.servers": address, "log_level": 0, "socket.timeout.ms": int(BOUND_S * 1000)})


def _accepts_connections(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=PROBE_S):
            return True
    except OSError:
        return False
