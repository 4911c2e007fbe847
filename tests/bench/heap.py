"""The most that the JVM's heap held since it was last emptied."""

from typing import Any, cast

from pyspark.sql import SparkSession


class Heap:
    """The pools of the driver's heap, which is the executor's too."""

    def __init__(self, spark: SparkSession) -> None:
        self._jvm = cast("Any", spark._jvm)
        pools = self._jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
        self._pools = [pool for pool in pools if pool.getType().toString() == "Heap memory"]

    def empty(self) -> None:
        """Every run begins with what is alive, and with none of its predecessor's garbage."""
        self._jvm.java.lang.System.gc()
        for pool in self._pools:
            pool.resetPeakUsage()

    def peak(self) -> int:
        """The pools need not have been full at the same time: an upper bound."""
        return sum(int(pool.getPeakUsage().getUsed()) for pool in self._pools)
