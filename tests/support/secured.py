"""A broker that asks who you are: SASL_SSL with PLAIN and SCRAM, and SSL for holders of a certificate."""

from pathlib import Path

from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from kafka_docker.embedded.kafka import Kafka
from kafka_docker.embedded.ports import free_port
from tests.support.certificates import Authority

USER = "alluvium"
CANARY = "canary-9d41f7"
# With what would end or change a value that is put between quotes without care.
PASSWORD = f'{CANARY}"\\;= x'
SECURITY = "org.apache.kafka.common.security"


def secured_kafka(folder: Path, authority: Authority) -> Kafka:
    """Not started yet. Its certificate holds the address 127.0.0.1 and no name."""
    certificate, key = authority.issue("broker")
    keystore = folder / "keystore.pem"
    keystore.write_bytes(key.read_bytes() + certificate.read_bytes())
    quoted = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
    return Kafka(
        folder,
        free_port(),
        listeners={"SASL_SSL": free_port(), "SSL": free_port()},
        properties={
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(keystore),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(authority.ca),
            "listener.name.ssl.ssl.client.auth": "required",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": (
                f'{SECURITY}.plain.PlainLoginModule required user_{USER}="{quoted}";'
            ),
            "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": f"{SECURITY}.scram.ScramLoginModule required;",
        },
    )


def admit_by_scram(address: str) -> None:
    """The same user, for SCRAM: its passwords live in the cluster."""
    admin = AdminClient({"bootstrap.servers": address})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    asked = admin.alter_user_scram_credentials([UserScramCredentialUpsertion(USER, info, PASSWORD.encode())])
    asked[USER].result(timeout=30)
