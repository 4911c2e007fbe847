"""PostgreSQL's protocol, as much of it as is needed to log in and run SQL without a client library.

https://www.postgresql.org/docs/17/protocol-flow.html, and RFC 7677 for the log-in (SCRAM-SHA-256).
"""

import base64
import hashlib
import hmac
import secrets
import socket
import struct
from types import TracebackType
from typing import Self

PROTOCOL_3 = 196608
Row = tuple[str | None, ...]


class PostgresRefused(Exception):
    """The server's own words, with its SQLSTATE."""

    def __init__(self, fields: dict[str, str]) -> None:
        super().__init__(fields.get("M", "no message"))
        self.sqlstate = fields.get("C", "")


class Connection:
    """A session; closes with its `with`."""

    def __init__(self, address: tuple[str, int], *, user: str, password: str, database: str, timeout_s: float) -> None:
        self._socket = socket.create_connection(address, timeout=timeout_s)
        self._stream = self._socket.makefile("rwb")
        try:
            self._log_in(user, password, database)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._stream.close()
        self._socket.close()

    def run(self, sql: str) -> list[Row]:
        """The rows of all statements, every value as text."""
        self._send(b"Q", sql.encode() + b"\0")
        rows: list[Row] = []
        refused: PostgresRefused | None = None
        while True:
            kind, body = self._receive_any()
            if kind == b"D":
                rows.append(_row(body))
            elif kind == b"E":
                refused = PostgresRefused(_error_fields(body))
            elif kind == b"Z":
                break
        if refused:
            raise refused
        return rows

    def _log_in(self, user: str, password: str, database: str) -> None:
        parameters = b"".join(part.encode() + b"\0" for part in ("user", user, "database", database))
        self._send(b"", struct.pack("!i", PROTOCOL_3) + parameters + b"\0")
        method, _ = self._receive_authentication()
        if method == 10:
            self._scram(password)
        elif method != 0:
            raise PostgresRefused({"M": f"authentication method {method} is not spoken here"})
        while self._receive()[0] != b"Z":
            pass

    def _scram(self, password: str) -> None:
        nonce = secrets.token_urlsafe(18)
        opening = f"n=,r={nonce}"
        first = f"n,,{opening}".encode()
        self._send(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(first)) + first)
        _, challenge = self._receive_authentication()
        answer, expected = _scram_answer(password, nonce, opening, challenge.decode())
        self._send(b"p", answer.encode())
        _, verdict = self._receive_authentication()
        if not hmac.compare_digest(verdict.decode(), expected):
            raise PostgresRefused({"M": "the server does not know the password itself"})
        self._receive_authentication()

    def _receive_authentication(self) -> tuple[int, bytes]:
        kind, body = self._receive()
        if kind != b"R":
            raise PostgresRefused({"M": f"unexpected message {kind!r} during the log-in"})
        return struct.unpack("!i", body[:4])[0], body[4:]

    def _receive(self) -> tuple[bytes, bytes]:
        kind, body = self._receive_any()
        if kind == b"E":
            raise PostgresRefused(_error_fields(body))
        return kind, body

    def _receive_any(self) -> tuple[bytes, bytes]:
        kind, length = struct.unpack("!ci", self._exactly(5))
        return kind, self._exactly(length - 4)

    def _exactly(self, count: int) -> bytes:
        content = self._stream.read(count)
        if len(content) < count:
            raise ConnectionResetError("PostgreSQL closed the connection")
        return content

    def _send(self, kind: bytes, body: bytes) -> None:
        self._stream.write(kind + struct.pack("!i", len(body) + 4) + body)
        self._stream.flush()


def _row(body: bytes) -> Row:
    (count,) = struct.unpack("!h", body[:2])
    values: list[str | None] = []
    at = 2
    for _ in range(count):
        (length,) = struct.unpack("!i", body[at : at + 4])
        at += 4
        values.append(None if length < 0 else body[at : at + length].decode())
        at += max(length, 0)
    return tuple(values)


def _error_fields(body: bytes) -> dict[str, str]:
    return {part[:1].decode(): part[1:].decode() for part in body.split(b"\0") if part}


def _scram_answer(password: str, nonce: str, opening: str, challenge: str) -> tuple[str, str]:
    """Our proof, and what the server must say to prove that it knows the password too."""
    said = dict(part.split("=", 1) for part in challenge.split(","))
    if not said["r"].startswith(nonce):
        raise PostgresRefused({"M": "the server answered somebody else's log-in"})
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(said["s"]), int(said["i"]))
    closing = f"c=biws,r={said['r']}"
    exchange = f"{opening},{challenge},{closing}".encode()
    client_key = _hmac(salted, b"Client Key")
    mask = _hmac(hashlib.sha256(client_key).digest(), exchange)
    proof = bytes(left ^ right for left, right in zip(client_key, mask, strict=True))
    signature = _hmac(_hmac(salted, b"Server Key"), exchange)
    return f"{closing},p={base64.b64encode(proof).decode()}", f"v={base64.b64encode(signature).decode()}"


def _hmac(key: bytes, content: bytes) -> bytes:
    return hmac.digest(key, content, "sha256")
