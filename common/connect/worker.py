"""Kafka Connect by its REST interface: every question has a bound, and each refusal is one line with its remedy."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from common.errors import AlluviumError, ConfigurationError, ConnectUnreachable, first_line, shortened
from common.rest import Answer, request
from common.settings.remedies import command, services, start_service
from common.waiting import tries

PATIENCE_SECONDS = 30.0
# Connect answers a change when all workers have taken it, and validates against the database before.
TIMEOUT_SECONDS = 60.0
HTTP_PORT = 8083
# A worker that has just started, and one that rebalances.
BUSY = {404, 409, 500, 503}
LONGEST_MESSAGE = 400
CONNECTOR = "submit/connector.sh ACTION NAME"


@dataclass(frozen=True)
class Task:
    """One task of a connector, with the first line of its error where it has failed."""

    number: int
    state: str
    error: str | None = None


@dataclass(frozen=True)
class State:
    """What Connect says about a connector and its tasks."""

    connector: str
    error: str | None
    tasks: tuple[Task, ...]

    @property
    def failed(self) -> bool:
        return "FAILED" in {self.connector, *(task.state for task in self.tasks)}

    @property
    def running(self) -> bool:
        return bool(self.tasks) and {self.connector, *(task.state for task in self.tasks)} == {"RUNNING"}


class Worker:
    """A worker of Kafka Connect, which answers for its whole cluster."""

    def __init__(self, url: str, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self.url, self._patience = url, patience_seconds
        parts = urlsplit(url)
        self._host, self._port, self._tls = str(parts.hostname), parts.port or HTTP_PORT, parts.scheme == "https"

    def plugins(self) -> set[str]:
        """Return the classes of all source connectors that the worker has."""
        return {each["class"] for each in self._asked("GET", "/connector-plugins").body}

    def plugin_settings(self, plugin: str) -> set[str]:
        """Return the names of the settings that a plugin knows."""
        return {each["name"] for each in self._asked("GET", f"/connector-plugins/{plugin}/config").body}

    def complaints(self, plugin: str, configuration: dict[str, str]) -> list[str]:
        """Return what the plugin finds wrong with a configuration; it also tries to connect to the database."""
        answer = self._asked("PUT", f"/connector-plugins/{plugin}/config/validate", configuration)
        self._require(answer, "validate the configuration")
        found = [each["value"] for each in answer.body["configs"]]
        return [f"{each['name']}: {first_line(Exception(text))}" for each in found for text in each["errors"]]

    def state(self, name: str) -> State | None:
        """Return the state of a connector; None where it is not registered."""
        answer = self._asked("GET", f"/connectors/{quote(name)}/status")
        if answer.status != 200:
            return None
        connector, tasks = answer.body["connector"], answer.body["tasks"]
        return State(
            connector["state"],
            error_of(connector),
            tuple(Task(each["id"], each["state"], error_of(each)) for each in tasks),
        )

    def configuration(self, name: str) -> dict[str, str] | None:
        answer = self._asked("GET", f"/connectors/{quote(name)}/config")
        return dict(answer.body) if answer.status == 200 else None

    def remembers(self, name: str) -> bool:
        """True where Connect has offsets of this connector."""
        answer = self._asked("GET", f"/connectors/{quote(name)}/offsets")
        return answer.status == 200 and bool(answer.body["offsets"])

    def put(self, name: str, configuration: dict[str, str]) -> None:
        self._change("PUT", f"/connectors/{quote(name)}/config", "register the connector", configuration)

    def restart(self, name: str) -> None:
        self._change("POST", f"/connectors/{quote(name)}/restart?includeTasks=true", "restart the connector")

    def pause(self, name: str) -> None:
        self._change("PUT", f"/connectors/{quote(name)}/pause", "pause the connector")

    def resume(self, name: str) -> None:
        self._change("PUT", f"/connectors/{quote(name)}/resume", "resume the connector")

    def stop(self, name: str) -> None:
        self._change("PUT", f"/connectors/{quote(name)}/stop", "stop the connector")

    def delete(self, name: str) -> None:
        self._change("DELETE", f"/connectors/{quote(name)}", "delete the connector")

    def forget_offsets(self, name: str) -> None:
        """Delete the offsets of a stopped connector. Its tasks may take a moment to end."""
        self._change("DELETE", f"/connectors/{quote(name)}/offsets", "delete the connector's offsets", busy={400})

    def _change(
        self, method: str, path: str, what: str, body: object = None, busy: frozenset[int] | set[int] = frozenset()
    ) -> None:
        answer = self._asked(method, path, body, busy)
        self._require(answer, what)

    def _asked(
        self, method: str, path: str, body: object = None, busy: frozenset[int] | set[int] = frozenset()
    ) -> Answer:
        """Ask until the worker answers, and again while it is busy."""
        answer = Answer(0)
        for _ in tries(self._patience, pause=0.2, longest_pause=1.0):
            answer = request(f"{self._host}:{self._port}", method, path, body, TIMEOUT_SECONDS, tls=self._tls)
            if answer.status and not self._is_busy(answer, busy):
                return answer
            if answer.status == 0 and "refused" in answer.reason:
                break
        if answer.status == 0:
            raise self.unreachable(answer.reason)
        return answer

    def _is_busy(self, answer: Answer, busy: frozenset[int] | set[int]) -> bool:
        """True for an answer that a later one will correct. An unknown connector is a 404 with a message of its own."""
        if answer.status in busy:
            return True
        known = message_of(answer)
        return answer.status in BUSY and not any(each in known for each in ("not found", "No status found", "Unknown"))

    def _require(self, answer: Answer, what: str) -> None:
        if answer.status in range(200, 300):
            return
        message = shortened(" ".join(message_of(answer).split()), LONGEST_MESSAGE) or f"HTTP {answer.status}"
        if answer.status in {400, 422}:
            raise ConfigurationError(f"Connect at {self.url} does not {what} ({message})", "correct the connector file")
        if answer.status == 409:
            raise ConnectUnreachable(
                f"Connect at {self.url} is busy and does not {what} ({message})", "try again later"
            )
        raise AlluviumError(f"Connect at {self.url} does not {what} ({message})", f"see its log: {logs()}")

    def unreachable(self, reason: str) -> ConnectUnreachable:
        start = start_service("connect", self._host, self._port)
        how = "start it" if start is None else f"start it with {start}"
        return ConnectUnreachable(
            f"Kafka Connect does not answer at {self.url} ({reason or 'no answer'})",
            f"{how}, or correct connect.url in the connector file",
        )


def logs() -> str:
    return services("logs", "connect")


def message_of(answer: Answer) -> str:
    return str(answer.body.get("message", "")) if isinstance(answer.body, dict) else ""


def error_of(part: dict[str, Any]) -> str | None:
    """Return the telling line of a trace: the innermost cause, without the name of its class."""
    trace = part.get("trace")
    if not trace:
        return None
    lines = trace.splitlines()
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    line = (causes or lines)[-1 if causes else 0]
    kind, colon, message = line.partition(": ")
    return shortened(message if colon and " " not in kind else line, LONGEST_MESSAGE)


def connector_command(action: str, name: str) -> str:
    return command(CONNECTOR.replace("ACTION", action).replace("NAME", name))
