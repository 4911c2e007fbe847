"""The limits of the work that the driver does by itself. Above them the cluster does it."""

from dataclasses import dataclass

MEBIBYTE = 2**20


@dataclass(frozen=True)
class Limits:
    """The sizes by which a merge strategy is chosen. docs/adr/0011-few-records.md has the measurements."""

    # Records of a batch that the driver fetches from Kafka by itself, and plans queries for without precaution.
    fetched_records: int = 5_000
    fetched_bytes: int = 16 * MEBIBYTE
    # A fetch that takes longer is given up: Spark reads the records, and knows each of their errors.
    fetch_seconds: float = 5.0
    # Rows of the table that such a query may be joined with.
    small_query_rows: int = 20_000
    # Rows of a batch that the driver collects as Arrow, by Spark's estimate of their bytes.
    collected_bytes: int = 256 * MEBIBYTE
    # Values of an unasked prune column that are divided into ranges; more of them are one range.
    divided_values: int = 10_000
    # Candidate files that any strategy but Delta's MERGE rewrites: each of them is opened.
    candidate_files: int = 2_000
    candidate_bytes: int = 64 * MEBIBYTE
    # Candidates that the driver rewrites, by the size of their files, their rows, and their size in memory: a rewrite
    # takes up to four times that, and the process stays below 1 GiB.
    rewrite_bytes: int = 64 * MEBIBYTE
    rewrite_rows: int = 5_000_000
    rewrite_memory: int = 192 * MEBIBYTE
    # Candidates that one Spark task rewrites sooner than several would share them out.
    one_task_bytes: int = 4 * MEBIBYTE
    # Ranges of offsets around records that Spark cannot read, each a query of its own; and the bytes of these records.
    overflow_ranges: int = 64
    overflow_bytes: int = 64 * MEBIBYTE
    # Attempts at a commit that others are faster than, and the pause before the second one; it doubles.
    commit_attempts: int = 6
    first_pause_seconds: float = 0.5

    def pause_seconds(self, attempt: int) -> float:
        """Return the seconds to wait after an attempt at a commit that another writer was faster than."""
        return self.first_pause_seconds * 2.0 ** (attempt - 1)


DEFAULT_LIMITS = Limits()
