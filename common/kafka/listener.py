"""Find out what listens at an address.

A client that is refused only learns that nobody answered. This probe connects without credentials and asks: does the
listener speak TLS, whom does its certificate name, does it want SASL?
"""

import socket
import ssl
import struct
from dataclasses import dataclass

SECONDS = 2.0
SASL_HANDSHAKE = 17
NOT_ON_A_SASL_LISTENER = 34


@dataclass(frozen=True)
class Listener:
    """The facts that an answer of the listener proves."""

    tls: bool
    # Why this machine does not accept the certificate; None where it does.
    complaint: str | None = None
    # The SASL mechanisms; empty where the listener is without SASL, None where it does not say.
    mechanisms: tuple[str, ...] | None = None


def probe(address: str, ca: str | None) -> Listener | None:
    """Probe an address; None where no known protocol answers: the broker may be down, asleep, or starting."""
    host, _, port = address.rpartition(":")
    place = (host.strip("[]"), int(port))
    try:
        with connected(place, unverified()) as connection:
            return Listener(tls=True, complaint=complaint(place, ca), mechanisms=sasl_or_none(connection))
    except OSError:
        pass
    try:
        with connected(place, None) as connection:
            return Listener(tls=False, mechanisms=mechanisms(connection))
    except (OSError, struct.error):
        return None


def unverified() -> ssl.SSLContext:
    """Build a context that verifies nothing, because the only question is whether the listener speaks TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def connected(place: tuple[str, int], context: ssl.SSLContext | None) -> socket.socket:
    connection = socket.create_connection(place, timeout=SECONDS)
    if context is None:
        return connection
    try:
        return context.wrap_socket(connection, server_hostname=place[0])
    except OSError:
        connection.close()
        raise


def complaint(place: tuple[str, int], ca: str | None) -> str | None:
    try:
        with connected(place, ssl.create_default_context(cadata=ca)):
            return None
    except ssl.SSLCertVerificationError as error:
        return error.verify_message
    except OSError:
        return None


def sasl_or_none(connection: socket.socket) -> tuple[str, ...] | None:
    """Ask for the SASL mechanisms; None where a listener that wants a client certificate answers no more than TLS."""
    try:
        return mechanisms(connection)
    except (OSError, struct.error):
        return None


def mechanisms(connection: socket.socket) -> tuple[str, ...]:
    """Ask for the SASL mechanisms, by the first request that a listener with SASL accepts."""
    body = struct.pack(">hhih", SASL_HANDSHAKE, 1, 1, -1) + struct.pack(">h5s", 5, b"PLAIN")
    connection.sendall(struct.pack(">i", len(body)) + body)
    (length,) = struct.unpack(">i", received(connection, 4))
    correlation, error, count = struct.unpack_from(">ihi", answer := received(connection, length))
    if correlation != 1:
        raise ConnectionError("not an answer of Kafka")
    if error == NOT_ON_A_SASL_LISTENER:
        return ()
    names, at = [], 10
    for _ in range(count):
        (size,) = struct.unpack_from(">h", answer, at)
        names.append(answer[at + 2 : at + 2 + size].decode(errors="replace"))
        at += 2 + size
    return tuple(names)


def received(connection: socket.socket, size: int) -> bytes:
    """Receive all bytes of an answer. An answer of another protocol has no sensible length."""
    if not 0 < size < 65536:
        raise ConnectionError("not an answer of Kafka")
    content = b""
    while len(content) < size:
        part = connection.recv(size - len(content))
        if not part:
            raise ConnectionError("closed")
        content += part
    return content
