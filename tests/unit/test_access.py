"""Row 37 without a broker: what [source.kafka] takes, where secrets are kept, and what either client is given."""

import shlex
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from pydantic import ValidationError

from common.errors import ConfigurationError
from common.settings.kafka import Kafka
from common.settings.kafka_security import Access, access
from common.settings.load import read_pipeline
from common.settings.secrets import reveal
from tests.support.commands import run

SASL = {"sasl_mechanism": "SCRAM-SHA-512", "sasl_username": "me", "sasl_password": "env:PASSWORD"}
PEM = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\nMA==\n-----END PRIVATE KEY-----"


def test_37_without_a_table_nothing_is_said() -> None:
    assert access(None) == Access(protocol="PLAINTEXT", librdkafka={}, spark={})


def test_37_a_password_reaches_both_clients_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD", 'pa"ss\\word;')
    found = access(Kafka(security_protocol="SASL_PLAINTEXT", **SASL))
    assert found.librdkafka == {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": "me",
        "sasl.password": 'pa"ss\\word;',
    }
    assert found.spark == {
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="me" password="pa\\"ss\\\\word;";',
    }
    assert "pa" not in repr(found).replace("spark", "")


def test_37_certificates_go_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ca.pem").write_text(PEM)
    (tmp_path / "me.pem").write_text(PEM + PEM)
    monkeypatch.setenv("KEY", KEY)
    monkeypatch.setenv("UNLOCK", "sesame")
    found = access(
        Kafka.model_validate(
            {
                "security_protocol": "SSL",
                "ssl_ca": f"{tmp_path}/ca.pem",
                "ssl_certificate": f"{tmp_path}/me.pem",
                "ssl_key": "env:KEY",
                "ssl_key_password": "env:UNLOCK",
            }
        )
    )
    assert found.librdkafka == {
        "security.protocol": "SSL",
        "ssl.ca.pem": PEM,
        "ssl.certificate.pem": PEM + PEM,
        "ssl.key.pem": KEY,
        "ssl.key.password": "sesame",
    }
    assert found.spark == {
        "kafka.security.protocol": "SSL",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": PEM,
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.certificate.chain": PEM + PEM,
        "kafka.ssl.keystore.key": KEY,
        "kafka.ssl.key.password": "sesame",
    }


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "Field required"),
        ({"security_protocol": "TLS"}, "Input should be 'PLAINTEXT', 'SSL', 'SASL_PLAINTEXT' or 'SASL_SSL'"),
        ({"security_protocol": "SASL_SSL", **SASL, "sasl_mechanism": "GSSAPI"}, "Input should be 'PLAIN'"),
        ({"security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN"}, "SASL_SSL needs sasl_password"),
        ({"security_protocol": "SSL", **SASL}, "sasl_mechanism has no effect with SSL"),
        ({"security_protocol": "PLAINTEXT", "ssl_ca": "ca.pem"}, "ssl_ca has no effect with PLAINTEXT"),
        ({"security_protocol": "SSL", "ssl_certificate": "me.pem"}, "ssl_certificate and ssl_key belong together"),
        ({"security_protocol": "SASL_SSL", **SASL, "sasl_password": "hunter2"}, "write env:NAME or file:PATH"),
    ],
)
def test_37_settings_that_cannot_work_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Kafka(**settings)
    assert said in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_37_a_pipeline_file_is_refused_by_the_path_of_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLUVIUM_PIPELINES", str(tmp_path))
    source = '[source]\ntopic = "t"\ncolumns = { id = "bigint" }\n[target]\nkeys = ["id"]\n[source.kafka]\n'
    (tmp_path / "mine.toml").write_text(source + 'security_protocl = "SSL"\n')
    with pytest.raises(
        ConfigurationError, match=r"'source\.kafka\.security_protocl'; did you mean 'security_protocol'"
    ):
        read_pipeline("mine")
    (tmp_path / "mine.toml").write_text(source + 'security_protocol = "SASL_SSL"\nsasl_password = "hunter2"\n')
    with pytest.raises(ConfigurationError, match=r"mine\.toml: source\.kafka\.sasl_password: a secret does not stand"):
        read_pipeline("mine")


def secret_file(folder: Path, content: bytes, mode: int = 0o600) -> str:
    path = folder / "secret"
    path.write_bytes(content)
    path.chmod(mode)
    return f"file:{path}"


def test_37_a_secret_file_is_read_without_its_last_line_break(tmp_path: Path) -> None:
    assert reveal(secret_file(tmp_path, b"hunter2 \n")) == "hunter2 "
    assert reveal(secret_file(tmp_path, b"hunter2", 0o400)) == "hunter2"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o622, 0o660])
def test_37_a_secret_file_that_others_may_open_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(
        ConfigurationError, match=f"others than its owner have access to .*; chmod 600 {tmp_path}/secret"
    ):
        reveal(secret_file(tmp_path, b"hunter2", mode))


def test_37_a_secret_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH", raising=False)
    with pytest.raises(ConfigurationError, match="the environment has no NO_SUCH"):
        reveal("env:NO_SUCH")
    with pytest.raises(ConfigurationError, match=f"cannot read the secret file {tmp_path}/nowhere"):
        reveal(f"file:{tmp_path}/nowhere")
    with pytest.raises(ConfigurationError, match="is empty"):
        reveal(secret_file(tmp_path, b"\n"))
    with pytest.raises(ConfigurationError, match="is not UTF-8") as caught:
        reveal(secret_file(tmp_path, b"hunter2\xff"))
    assert caught.value.__cause__ is None


def test_37_what_is_said_about_a_secret_file_can_be_typed(tmp_path: Path) -> None:
    """A folder with a blank, and a key in the older form that Java's client does not read."""
    folder = tmp_path / "my secrets"
    folder.mkdir()
    secret = secret_file(folder, b"", 0o644)
    older = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()
    )
    (folder / "secret").write_bytes(older)
    with pytest.raises(ConfigurationError) as refused:
        reveal(secret)
    done = run(shlex.split(refused.value.remedy))
    assert done.returncode == 0, done.stderr
    (folder / "me.pem").write_text(PEM)
    named = {"security_protocol": "SSL", "ssl_certificate": str(folder / "me.pem")}
    with pytest.raises(ConfigurationError) as refused:
        access(Kafka.model_validate({**named, "ssl_key": secret}))
    command, _, setting = refused.value.remedy.removeprefix("convert it: ").partition(", then set ssl_key = ")
    done = run(shlex.split(command))
    assert done.returncode == 0, done.stderr
    assert "BEGIN PRIVATE KEY" in access(Kafka.model_validate({**named, "ssl_key": setting})).librdkafka["ssl.key.pem"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"ssl_ca": "{}/nowhere.pem"}, r"source\.kafka\.ssl_ca: cannot read .*/nowhere\.pem \(No such file"),
        ({"ssl_ca": "{}/secret"}, r"source\.kafka\.ssl_ca: .*/secret holds no certificate"),
        ({"ssl_certificate": "{}/me.pem", "ssl_key": "file:{}/secret"}, r"secret is not a PKCS#8 key .*openssl pkcs8"),
    ],
)
def test_37_files_that_cannot_be_used_are_named(tmp_path: Path, changed: dict[str, str], said: str) -> None:
    secret_file(tmp_path, b"-----BEGIN RSA PRIVATE KEY-----")
    (tmp_path / "me.pem").write_text(PEM)
    given = {name: value.format(tmp_path) for name, value in changed.items()}
    with pytest.raises(ConfigurationError, match=said):
        access(Kafka(security_protocol="SSL", **given))
