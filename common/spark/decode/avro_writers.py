"""The writer schemas of records. The registry is asked for each once, and it is kept as long as the process runs."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from common.registry.subject import Registered, Subject
from common.spark.decode.avro_reader import Reader


@dataclass(frozen=True)
class Writer:
    """A schema of the subject, and the reason why its records cannot be read, if there is one."""

    id: int
    text: str
    refusal: str | None


@dataclass(frozen=True)
class Writers:
    """The schemas that are known so far. An id belongs to one schema for ever, so none is forgotten."""

    subject: Subject
    reader: Reader
    known: dict[int, Writer] = field(default_factory=dict)

    def learn(self, registered: Registered) -> None:
        refusal = self.reader.refusal(registered)
        self.known[registered.id] = Writer(
            registered.id, registered.text if refusal else self.reader.in_full(registered), refusal
        )

    def look_up(self, ids: Iterable[int]) -> list[int]:
        """Learn the schemas of the subject, and return the ids of other subjects. The registry does not have the rest.

        Neither of the two is kept, because an id may become the subject's before the next batch.
        """
        foreign = []
        for number in ids:
            registered = self.subject.schema(number)
            if registered is None:
                continue
            if self.subject.has(number):
                self.learn(registered)
            else:
                foreign.append(number)
        return foreign
