"""The addresses of brokers."""

import pytest

from common.errors import UsageError
from common.settings.brokers import bootstrap


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("localhost", "localhost:9092"),
        ("127.0.0.1", "127.0.0.1:9092"),
        ("kafka-1.example.org:19092", "kafka-1.example.org:19092"),
        ("a, b:9093 ,c", "a:9092,b:9093,c:9092"),
        ("[::1]", "[::1]:9092"),
        ("[2001:db8::7]:9093", "[2001:db8::7]:9093"),
        ("kafka_1", "kafka_1:9092"),
    ],
)
def test_every_broker_gets_its_port(text, address):
    assert bootstrap(text) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a,,b",
        "a,",
        ":9092",
        "a:",
        "a:port",
        "a:0",
        "a:65536",
        "a:1:2",
        "::1",
        "[::1",
        "[a]",
        "http://a",
        "a/b",
        "a b",
        "-a",
        "a:٣",
    ],
)
def test_nonsense_is_refused_with_the_form_that_is_wanted(text):
    with pytest.raises(UsageError) as refused:
        bootstrap(text)
    assert "HOST:PORT" in refused.value.remedy
