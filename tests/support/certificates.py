"""A certificate authority of a test's own, and what it signs."""

from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)


class Authority:
    """Its certificate lies in `ca`, a PEM file."""

    def __init__(self, folder: Path, name: str = "tests") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"authority of {name}")])
        own = self._unsigned(self._name, self._key).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        self.ca = folder / f"{name}-ca.pem"
        self.ca.write_bytes(self._signed(own))

    def issue(self, name: str, *, address: str = "127.0.0.1") -> tuple[Path, Path]:
        """The certificate of one holder, valid for an address only, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names = x509.SubjectAlternativeName([x509.IPAddress(IPv4Address(address))])
        certificate, key_file = self._folder / f"{name}.pem", self._folder / f"{name}-key.pem"
        certificate.write_bytes(self._signed(self._unsigned(subject, key).add_extension(names, critical=False)))
        key_file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        key_file.chmod(0o600)
        return certificate, key_file

    def _unsigned(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder(issuer_name=self._name, subject_name=subject, public_key=key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY)
            .not_valid_after(now + DAY)
        )

    def _signed(self, certificate: x509.CertificateBuilder) -> bytes:
        return certificate.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM)
