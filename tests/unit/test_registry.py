"""The registry's client: what is an answer, what is a no, and what is neither. A server of ours plays the bad days."""

import base64
import json
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from common.errors import ConfigurationError, RegistryUnreachable
from common.registry import client, confluent
from common.registry.client import Client, trusted
from common.registry.subject import Subject
from common.settings.registry import Registry
from kafka_docker.embedded.ports import free_port
from tests.support.certificates import Authority

NO_SCHEMA = json.dumps({"error_code": 40403, "message": "Schema not found"})


class Handler(BaseHTTPRequestHandler):
    """Gives the next of the prepared answers, the last one for ever, and remembers who asked."""

    answers: ClassVar[list[tuple[int, str]]] = []
    asked: ClassVar[list[tuple[str, str | None]]] = []

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers.get("Authorization")))
        status, body = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        pass


def schema_1(registry: SchemaRegistryClient) -> str | None:
    return registry.get_schema(1).schema_str


def subjects(registry: SchemaRegistryClient) -> list[str]:
    return registry.get_subjects()


Answering = Callable[..., Client]


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """The port of a server that gives the prepared answers."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  who is not trusted hangs up
    thread = threading.Thread(target=server.serve_forever, args=[0.02])
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def answering() -> Iterator[Answering]:
    with serving() as port:

        def prepared(*answers: tuple[int, str], patience: float = 1.0) -> Client:
            Handler.answers[:], Handler.asked[:] = answers, []
            return Client(f"http://127.0.0.1:{port}/api", patience)

        yield prepared


def test_26_a_bad_moment_is_waited_for(answering: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LONGEST_PAUSE_SECONDS", 0.2)
    moments = [(503, ""), (429, "{}"), (200, "not json"), (200, ""), (200, "[]"), (200, '{"schema": "x"}')]
    assert answering(*moments, patience=20).ask(schema_1) == "x"
    assert Handler.asked == [("/api/schemas/ids/1", None)] * len(moments)


@pytest.mark.parametrize("status", [500, 502, 503, 504, 408, 429])
def test_26_a_bad_moment_that_does_not_end_is_no_answer(answering: Answering, status: int) -> None:
    asking = answering((status, NO_SCHEMA), patience=0)
    with pytest.raises(RegistryUnreachable, match=f"HTTP {status}") as failure:
        asking.ask(schema_1)
    assert failure.value.exit_code == 75
    assert len(Handler.asked) == 1


def test_26_a_closed_port_is_no_answer_within_the_bound() -> None:
    with pytest.raises(RegistryUnreachable, match=r"Connection refused.*start it"):
        Client(f"http://127.0.0.1:{free_port()}", 0.5).ask(subjects)


def test_26_who_says_nothing_gives_no_answer_within_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confluent, "TIMEOUT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(RegistryUnreachable, match="timed out"):
            Client(url, 0).ask(subjects)


@pytest.mark.parametrize("body", ["{}", '{"schema": null, "id": 1}', '{"schema": "x"}', '["x"]', '"x"', "null"])
def test_26_an_answer_without_a_schema_is_none(answering: Answering, body: str) -> None:
    with pytest.raises(RegistryUnreachable, match=r"empty answer|no registry's JSON"):
        Subject(answering((200, body), patience=0), "s").version()
    if body != '{"schema": "x"}':
        with pytest.raises(RegistryUnreachable, match=r"empty answer|no registry's JSON"):
            Subject(answering((200, body), patience=0), "s").schema(1)


def test_26_an_empty_answer_is_no_empty_registry(answering: Answering) -> None:
    assert answering((200, "[]")).ask(subjects) == []
    with pytest.raises(RegistryUnreachable, match="an empty answer"):
        answering((200, ""), patience=0).ask(subjects)


def test_26_only_the_registry_itself_says_no(answering: Answering) -> None:
    """A proxy's 404 would otherwise quarantine whatever comes."""
    assert answering((404, NO_SCHEMA)).ask(schema_1) is None
    for body in ("<html>", "[]", "{}"):
        with pytest.raises(ConfigurationError, match=r"is no answer of a schema registry \(HTTP 404\)"):
            answering((404, body)).ask(schema_1)


def test_who_is_not_let_in_or_sent_elsewhere_is_told(answering: Answering) -> None:
    with pytest.raises(ConfigurationError, match="does not let us in"):
        answering((401, "")).ask(schema_1)
    with pytest.raises(ConfigurationError, match="HTTP 302"):
        answering((302, "")).ask(schema_1)
    assert [path for path, _ in Handler.asked] == ["/api/schemas/ids/1"]


def test_where_one_address_does_not_answer_the_next_is_asked(answering: Answering) -> None:
    first = f"http://127.0.0.1:{free_port()}"
    url = answering((200, '{"schema": "x"}')).url
    declared = Registry(url=f"{first}/, {url}", subject="s")
    assert declared.url == f"{first},{url}"
    assert Client.of(declared).ask(schema_1) == "x"


def private_file(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o600)
    return f"file:{path}"


def test_credentials_are_sent_and_never_shown(answering: Answering, tmp_path: Path) -> None:
    secret = private_file(tmp_path / "password", "canary\n")
    url = answering((200, '{"schema": "x"}')).url
    declared = Registry(url=url, subject="s", username="me", password=secret)
    asking = Client.of(declared)
    asking.ask(schema_1)
    assert Handler.asked == [("/api/schemas/ids/1", f"Basic {base64.b64encode(b'me:canary').decode()}")]
    assert "canary" not in repr(asking) + repr(declared)
    assert "basic" not in repr(asking)


def test_a_token_is_sent_and_never_shown(answering: Answering, tmp_path: Path) -> None:
    url = answering((200, '{"schema": "x"}')).url
    asking = Client.of(Registry(url=url, subject="s", token=private_file(tmp_path / "token", "canary\n")))
    asking.ask(schema_1)
    assert Handler.asked == [("/api/schemas/ids/1", "Bearer canary")]
    assert "canary" not in repr(asking)


def test_an_address_of_the_environment_is_looked_at_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLUVIUM_REGISTRY_URL", "http://me:canary@registry")
    with pytest.raises(ConfigurationError, match=r"ALLUVIUM_REGISTRY_URL: credentials do not stand") as refused:
        Client.of(Registry(url="http://registry", subject="s"))
    assert "canary" not in str(refused.value)


def test_tls_trusts_the_named_authority_and_shows_our_certificate(tmp_path: Path) -> None:
    ours, others = Authority(tmp_path), Authority(tmp_path, "others")
    certificate, key = ours.issue("registry")
    shown, own_key = ours.issue("reader")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(ours.ca))
    tls.load_cert_chain(certificate, key)
    tls.verify_mode = ssl.CERT_REQUIRED
    Handler.answers[:] = [(200, '{"schema": "x"}')]
    with serving(tls) as port:
        named = Registry(url=f"https://127.0.0.1:{port}", subject="s", ssl_ca=str(ours.ca))
        whole = named.model_copy(update={"ssl_certificate": str(shown), "ssl_key": f"file:{own_key}"})
        assert Client.of(whole, 1).ask(schema_1) == "x"
        for lacking in (named, whole.model_copy(update={"ssl_ca": str(others.ca)})):
            with pytest.raises(RegistryUnreachable, match=r"(?i)certificate"):
                Client.of(lacking, 0.1).ask(schema_1)


def test_a_certificate_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    declared = Registry(url="https://127.0.0.1", subject="s", ssl_ca=str(tmp_path / "ca.pem"))
    with pytest.raises(ConfigurationError, match=r"do not work.*correct the ssl_ settings"):
        Client.of(declared).ask(schema_1)


def test_without_an_authority_the_machine_says_whom_to_trust(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(Authority(tmp_path).ca))
    assert trusted(Registry(url="https://registry", subject="s")) == str(tmp_path / "tests-ca.pem")


def test_an_id_that_no_registry_can_have_is_not_asked_for(answering: Answering) -> None:
    assert Subject(answering((500, "")), "s").schema(2**31) is None
    assert Handler.asked == []


def test_names_of_subjects_are_quoted(answering: Answering) -> None:
    with pytest.raises(ConfigurationError, match="has no subject 'a/b c'"):
        Subject(answering((404, NO_SCHEMA)), "a/b c").version()
    assert urlsplit(Handler.asked[0][0]).path == "/api/subjects/a%2Fb%20c/versions/latest"


def test_a_pipeline_without_a_registry_does_not_load_its_client() -> None:
    asked = "import sys, common.spark.decode.factory; print('confluent_kafka.schema_registry' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"
