"""The error for tables that the driver cannot merge itself."""


class UnsupportedTable(Exception):
    """The table or the batch has something that only Spark's Delta can handle. The message says what."""
