"""Access to a secured cluster: the settings of [source.kafka], as each of the two clients wants them.

Files are read here and passed on as text, because an executor on another machine does not have them.
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from common.errors import ConfigurationError
from common.settings.environment import home
from common.settings.kafka import Kafka
from common.settings.secrets import reveal

MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----")
# PKCS#8: Java's client reads no other form.
PRIVATE_KEY = re.compile(r"-----BEGIN (ENCRYPTED )?PRIVATE KEY-----")


@dataclass(frozen=True)
class Access:
    """Options of librdkafka and of Spark's source. They hold secrets in plain text, so no repr shows them."""

    protocol: str = "PLAINTEXT"
    mechanism: str | None = None
    ca: str | None = field(default=None, repr=False)
    librdkafka: Mapping[str, str] = field(default_factory=dict, repr=False)
    spark: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def tls(self) -> bool:
        return self.protocol.endswith("SSL")


OPEN = Access()


def access(kafka: Kafka | None) -> Access:
    """Resolve every secret and read every file. A missing one is an error before a client is built."""
    if kafka is None:
        return OPEN
    librdkafka: dict[str, str] = {"security.protocol": kafka.security_protocol}
    java = dict(librdkafka)
    for of_librdkafka, of_java in (sasl(kafka), trusted(kafka), presented(kafka)):
        librdkafka |= of_librdkafka
        java |= of_java
    return Access(
        protocol=kafka.security_protocol,
        mechanism=kafka.sasl_mechanism,
        ca=librdkafka.get("ssl.ca.pem"),
        librdkafka=librdkafka,
        spark={f"kafka.{name}": value for name, value in java.items()},
    )


Options = tuple[dict[str, str], dict[str, str]]


def sasl(kafka: Kafka) -> Options:
    if kafka.sasl_mechanism is None or kafka.sasl_username is None or kafka.sasl_password is None:
        return {}, {}
    user, password = kafka.sasl_username, reveal(kafka.sasl_password)
    if not password.isprintable():
        raise ConfigurationError(f"the password {kafka.sasl_password} has more than one line", "write it as one line")
    login = f"{MODULES[kafka.sasl_mechanism]} required username={in_quotes(user)} password={in_quotes(password)};"
    return (
        {"sasl.mechanisms": kafka.sasl_mechanism, "sasl.username": user, "sasl.password": password},
        {"sasl.mechanism": kafka.sasl_mechanism, "sasl.jaas.config": login},
    )


def in_quotes(text: str) -> str:
    """Quote a text for JAAS: a quote or a backslash in a password must not end or change it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def trusted(kafka: Kafka) -> Options:
    """Return the options for `ssl_ca`; without it each client trusts what its own platform trusts."""
    if kafka.ssl_ca is None:
        return {}, {}
    authorities = pem(kafka.ssl_ca, "ssl_ca")
    return {"ssl.ca.pem": authorities}, {
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": authorities,
    }


def presented(kafka: Kafka) -> Options:
    """Return the options for our certificate, for a cluster that asks for one."""
    if kafka.ssl_certificate is None or kafka.ssl_key is None:
        return {}, {}
    chain, key = pem(kafka.ssl_certificate, "ssl_certificate"), reveal(kafka.ssl_key)
    if PRIVATE_KEY.search(key) is None:
        raise ConfigurationError(
            f"the key {kafka.ssl_key} is not a PKCS#8 key in PEM form", f"convert it: {conversion(kafka.ssl_key)}"
        )
    unlocked = {} if kafka.ssl_key_password is None else {"ssl.key.password": reveal(kafka.ssl_key_password)}
    return (
        {"ssl.certificate.pem": chain, "ssl.key.pem": key, **unlocked},
        {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": chain, "ssl.keystore.key": key, **unlocked},
    )


def conversion(named: str) -> str:
    """Return the command that makes a PKCS#8 key of another one, without a password and for its owner only."""
    kind, _, where = named.partition(":")
    key = str(home() / where) if kind == "file" else "KEY_FILE"
    command = shlex.join(["openssl", "pkcs8", "-topk8", "-nocrypt", "-in", key, "-out", f"{key}.pkcs8"])
    return f"{command}, then set ssl_key = file:{key}.pkcs8"


def pem(name: str, setting: str) -> str:
    path = home() / name
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ConfigurationError(
            f"source.kafka.{setting}: cannot read {path} ({reason})", "correct the path"
        ) from error
    if CERTIFICATE.search(text) is None:
        raise ConfigurationError(f"source.kafka.{setting}: {path} holds no certificate", "give a file in PEM form")
    return text
