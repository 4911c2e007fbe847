"""Explain why a cluster refuses us, where it is certain that the pipeline file is wrong and waiting does not help."""

import re
from collections.abc import Iterable

from confluent_kafka import KafkaError

from common.errors import ConfigurationError
from common.kafka.listener import Listener, probe
from common.settings.kafka_security import Access

REMEDIES = {
    KafkaError._AUTHENTICATION: "correct sasl_mechanism, sasl_username and sasl_password in [source.kafka]",
    KafkaError._SSL: "correct ssl_ca, ssl_certificate and ssl_key in [source.kafka]",
}


def misconfigured(brokers: str, access: Access, heard: Iterable[KafkaError]) -> ConfigurationError | None:
    """Explain by what the brokers show, or else by the client's own errors; None where nothing is certain."""
    for address in brokers.split(","):
        listener = probe(address, access.ca)
        message_and_remedy = None if listener is None else mismatch(address, listener, access)
        if message_and_remedy is not None:
            return ConfigurationError(*message_and_remedy)
    for error in heard:
        remedy = REMEDIES.get(kind(error))
        if remedy is not None:
            return ConfigurationError(f"the broker {brokers} does not let us in ({reason(error)})", remedy)
    return None


def kind(error: KafkaError) -> int:
    """Return the error's code. A refused certificate is reported as a lost connection, with an alert number."""
    return int(KafkaError._SSL if "SSL alert number" in error.str() else error.code())


def mismatch(address: str, listener: Listener, access: Access) -> tuple[str, str] | None:
    """Describe what does not fit between a listener and our settings, with the remedy."""
    protocol = "_".join(([] if not listener.mechanisms else ["SASL"]) + (["SSL"] if listener.tls else ["PLAINTEXT"]))
    if listener.tls != access.tls:
        speaks = "speaks TLS" if listener.tls else "does not speak TLS"
        return f"the broker {address} {speaks}, and security_protocol is {access.protocol}", set_protocol(protocol)
    if listener.complaint is not None:
        remedy = (
            "give the brokers by a name that their certificate holds"
            if "mismatch" in listener.complaint
            else "set ssl_ca in [source.kafka] to the authority that signed it"
        )
        return f"the certificate of the broker {address} is not accepted ({listener.complaint})", remedy
    return sasl_mismatch(address, listener, access, protocol)


def sasl_mismatch(address: str, listener: Listener, access: Access, protocol: str) -> tuple[str, str] | None:
    if listener.mechanisms is None or (access.mechanism is None and not listener.mechanisms):
        return None
    if access.mechanism is None or not listener.mechanisms:
        wants = "wants SASL" if listener.mechanisms else "is without SASL"
        return f"the broker {address} {wants}, and security_protocol is {access.protocol}", set_protocol(protocol)
    if access.mechanism not in listener.mechanisms:
        offered = ", ".join(listener.mechanisms)
        return (
            f"the broker {address} does not offer {access.mechanism}",
            f"set sasl_mechanism in [source.kafka] to one that it does: {offered}",
        )
    return None


def set_protocol(protocol: str) -> str:
    return f"set security_protocol in [source.kafka] to {protocol}, or correct the port"


def reason(error: KafkaError) -> str:
    """Return librdkafka's message, without the address before it and the client's state behind it."""
    return re.sub(r"^\S+/bootstrap: |^\S+/\d+: | \(after \d+ms in state \w+.*\)$", "", error.str())
