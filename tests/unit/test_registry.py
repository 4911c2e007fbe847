"""The registry's client: what is an answer, what is a no, and what is neither. A server of ours plays the bad days."""

import base64
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from common.errors import ConfigurationError, RegistryUnreachable
from common.registry.client import Client
from common.registry.subject import Subject
from common.settings.registry import Registry
from kafka_docker.embedded.ports import free_port

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


Answering = Callable[..., Client]


@pytest.fixture
def answering() -> Iterator[Answering]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def prepared(*answers: tuple[int, str], patience: float = 1.0) -> Client:
        Handler.answers[:], Handler.asked[:] = answers, []
        return Client(f"http://127.0.0.1:{server.server_port}/api", patience)

    yield prepared
    server.shutdown()
    thread.join()
    server.server_close()


def test_26_a_bad_moment_is_waited_for(answering: Answering) -> None:
    client = answering((503, ""), (429, "{}"), (200, "not json"), (200, '{"schema": "x"}'), patience=10)
    assert client.get("/schemas/ids/1") == {"schema": "x"}
    assert Handler.asked == [("/api/schemas/ids/1", None)] * 4


@pytest.mark.parametrize("status", [500, 502, 503, 504, 408, 429])
def test_26_a_bad_moment_that_does_not_end_is_no_answer(answering: Answering, status: int) -> None:
    client = answering((status, NO_SCHEMA), patience=0)
    with pytest.raises(RegistryUnreachable, match=f"HTTP {status}") as failure:
        client.get("/schemas/ids/1")
    assert failure.value.exit_code == 75


def test_26_a_closed_port_is_no_answer_within_the_bound() -> None:
    with pytest.raises(RegistryUnreachable, match=r"Connection refused.*start it"):
        Client(f"http://127.0.0.1:{free_port()}", 0.5).get("/subjects")


def test_26_only_the_registry_itself_says_no(answering: Answering) -> None:
    """A proxy's 404 would otherwise quarantine whatever comes."""
    assert answering((404, NO_SCHEMA)).get("/schemas/ids/1") is None
    for body in ("<html>", "[]", "{}"):
        with pytest.raises(ConfigurationError, match=r"no answer of a schema registry \(HTTP 404\)"):
            answering((404, body)).get("/schemas/ids/1")


def test_who_is_not_let_in_or_sent_elsewhere_is_told(answering: Answering) -> None:
    with pytest.raises(ConfigurationError, match="does not let us in"):
        answering((401, "")).get("/subjects")
    with pytest.raises(ConfigurationError, match="HTTP 302"):
        answering((302, "")).get("/subjects")
    assert [path for path, _ in Handler.asked] == ["/api/subjects"]


def test_credentials_are_sent_and_never_shown(answering: Answering, tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("canary\n")
    secret.chmod(0o600)
    url = answering((200, "[]")).url
    declared = Registry(url=url, subject="s", username="me", password=f"file:{secret}")
    client = Client.of(declared)
    client.get("/subjects")
    assert Handler.asked == [("/api/subjects", f"Basic {base64.b64encode(b'me:canary').decode()}")]
    assert "canary" not in repr(client) + repr(declared)
    assert "Basic" not in repr(client)


def test_an_id_that_no_registry_can_have_is_not_asked_for(answering: Answering) -> None:
    assert Subject(answering((500, "")), "s").schema(2**31) is None
    assert Handler.asked == []


def test_names_of_subjects_are_quoted(answering: Answering) -> None:
    with pytest.raises(ConfigurationError, match="has no subject 'a/b c'"):
        Subject(answering((404, NO_SCHEMA)), "a/b c").version()
    assert Handler.asked[0][0] == "/api/subjects/a%2Fb%20c/versions/latest"
