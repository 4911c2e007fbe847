"""The schemas that records were written by: asked for once, and kept as long as the process lives."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from common.registry.subject import Registered, Subject
from common.spark.decode.avro_reader import Reader


@dataclass(frozen=True)
class Writer:
    """A schema of the subject, and why records by it cannot be read, if they cannot."""

    id: int
    text: str
    refusal: str | None


@dataclass(frozen=True)
class Writers:
    """What is known so far. An id stands for one schema for ever, so nothing is forgotten."""

    subject: Subject
    reader: Reader
    known: dict[int, Writer] = field(default_factory=dict)

    def learn(self, found: Registered) -> None:
        refusal = self.reader.refusal(found)
        self.known[found.id] = Writer(found.id, found.text if refusal else self.reader.in_full(found), refusal)

    def look_up(self, ids: Iterable[int]) -> list[int]:
        """Learns what is the subject's, and gives what is another's; the rest the registry does not have.

        Neither is kept: what is not the subject's today may be with the next batch.
        """
        foreign = []
        for number in ids:
            found = self.subject.schema(number)
            if found is None:
                continue
            if self.subject.has(number):
                self.learn(found)
            else:
                foreign.append(number)
        return foreign
