"""Move the position of a table by a commit without rows."""

from common.delta.transaction import DirectTransaction
from common.merge.request import MergeRequest
from common.merge.strategy import Declined, MergeForecast
from common.model.position import Stamp


class PositionOnly:
    """For a batch of which nothing is to be merged."""

    name = "position only"

    def prepare(self, request: MergeRequest) -> "PreparedPosition | Declined":
        if request.to_merge:
            return Declined(f"{request.to_merge} rows are to be merged")
        return PreparedPosition(request.fenced_transaction())


class PreparedPosition:
    """A commit that carries nothing but its transaction."""

    forecast = MergeForecast(candidates=0, superseded=0, absent=0)

    def __init__(self, transaction: DirectTransaction) -> None:
        self._transaction = transaction

    def commit(self, stamp: Stamp) -> None:
        self._transaction.commit(stamp, [], None)
