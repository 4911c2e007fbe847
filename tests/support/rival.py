"""Another writer, in the midst of a MERGE."""

import threading
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tests.support.waiting import WAIT_SECONDS, await_file


class Rival:
    """Acts once, after a MERGE has begun its transaction and before it commits: its source waits for the act."""

    def __init__(self, folder: Path, act: Callable[[], None]) -> None:
        folder.mkdir()
        self._begun, self._done = folder / "begun", folder / "done"
        self._thread = threading.Thread(target=self._run, args=(act,))
        self._thread.start()
        self.failure: BaseException | None = None

    def meets(self, changes: DataFrame) -> DataFrame:
        """The same rows, which come out only when the rival has acted."""
        begun, done = str(self._begun), str(self._done)

        def wait(_: int) -> bool:
            Path(begun).touch()
            await_file(Path(done))
            return True

        return changes.where(F.udf(wait, T.BooleanType())("id"))

    def acted(self) -> bool:
        self._thread.join(WAIT_SECONDS)
        return self._done.exists() and self.failure is None

    def _run(self, act: Callable[[], None]) -> None:
        try:
            await_file(self._begun)
            act()
        except Exception as error:
            self.failure = error
            raise
        finally:
            self._done.touch()
