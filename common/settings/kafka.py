"""The section [source.kafka]: access to the cluster."""

from typing import Literal, Self

from pydantic import Field, model_validator

from common.settings.base import Secret, Section


class Kafka(Section):
    """Access to the cluster. Without this table the connection is plain text, and no user is named."""

    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
    """The protocol of the brokers: with `SSL` they speak TLS, with `SASL` they ask for a user.

    Example: security_protocol = "SASL_SSL"
    """
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    """The mechanism by which the password is proved. Needed with SASL.

    Example: sasl_mechanism = "SCRAM-SHA-512"
    """
    sasl_username: str | None = Field(default=None, min_length=1)
    """The user. Needed with SASL.

    Example: sasl_username = "alluvium"
    """
    sasl_password: Secret | None = None
    """The password of the user. Needed with SASL.

    Example: sasl_password = "env:KAFKA_PASSWORD"
    """
    ssl_ca: str | None = None
    """A PEM file with the authorities to trust; without it, those that this machine trusts.

    Example: ssl_ca = "/etc/alluvium/ca.pem"
    """
    ssl_certificate: str | None = None
    """A PEM file with our certificate, for a cluster that asks for one. Goes with `ssl_key`.

    Example: ssl_certificate = "/etc/alluvium/client.pem"
    """
    ssl_key: Secret | None = None
    """The key of our certificate: PKCS#8 in PEM form.

    Example: ssl_key = "file:/etc/alluvium/client.key"
    """
    ssl_key_password: Secret | None = None
    """The password of the key, if it is encrypted.

    Example: ssl_key_password = "env:KEY_PASSWORD"
    """

    @model_validator(mode="after")
    def settings_fit_the_protocol(self) -> Self:
        """Refuse missing settings, and settings without effect: whoever sets a password expects that it is used."""
        given = {name for name in type(self).model_fields if getattr(self, name) is not None}
        sasl = {"sasl_mechanism", "sasl_username", "sasl_password"}
        fitting = {"security_protocol"}
        if self.security_protocol.startswith("SASL"):
            for missing in sorted(sasl - given):
                raise ValueError(f"{self.security_protocol} needs {missing}")
            fitting |= sasl
        if self.security_protocol.endswith("SSL"):
            fitting |= {name for name in type(self).model_fields if name.startswith("ssl_")}
        for idle in sorted(given - fitting):
            raise ValueError(f"{idle} has no effect with {self.security_protocol}")
        if len(given & {"ssl_certificate", "ssl_key"}) == 1:
            raise ValueError("ssl_certificate and ssl_key belong together")
        return self
