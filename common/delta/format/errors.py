"""What the driver cannot merge itself."""


class UnsupportedTable(Exception):
    """Something is in the table or in the batch that Spark's Delta has to deal with; the message says what."""
