"""Everything that a batch needs besides its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from common.engine.resume import refuse_recreated
from common.engine.table_fit import TableFit
from common.kafka.topic import TopicClient
from common.merge.strategies import STRATEGIES
from common.merge.strategy import MergeStrategy
from common.model.limits import DEFAULT_LIMITS, Limits
from common.model.offsets import Available, Offsets, TopicPartition, starting_offsets
from common.model.position import Position
from common.settings.locations import Location
from common.settings.pipeline import Pipeline
from common.spark.decode.decoder import Decoder


@dataclass(frozen=True)
class BatchContext:
    """One pipeline between its topics and its table."""

    fit: TableFit
    table: Location
    topic: TopicClient
    topic_ids: Mapping[str, str]
    decoder: Decoder
    limits: Limits = DEFAULT_LIMITS
    strategies: Sequence[MergeStrategy] = STRATEGIES
    check_pruning: bool = False

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline as its file declares it, with the rules of the table added to its own."""
        return self.fit.pipeline

    def refuse_unreadable(self, start: Offsets) -> None:
        """Raise an error with a remedy where the broker or the topic is the reason of a failed read."""
        self.refuse_recreated()
        starting_offsets(start, self.topic.available())

    def starting_offsets(self, position: Position, available: Available) -> dict[TopicPartition, int]:
        """Return the next offset of this pipeline in each partition of its topics."""
        return starting_offsets(position.offsets, available.of(self.topic_ids))

    def refuse_recreated(self) -> None:
        """Refuse a topic that was recreated since the run began."""
        refuse_recreated(self.topic.ids(), self.topic_ids)
