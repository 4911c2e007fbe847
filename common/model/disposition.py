"""The dispositions of a record: merge, folded into a newer record of its key, late, quarantined, or null."""

DISPOSITION = "_disposition"
MERGE = "merge"
FOLDED = "folded"
LATE = "late"
QUARANTINED = "quarantined"
NULL = "null"
DISPOSITIONS = (MERGE, FOLDED, LATE, QUARANTINED, NULL)
# The reason of a quarantined record, and its message; null for every other record.
REASON = "_reason"
MESSAGE = "_message"
# True for a record that deletes the row of its key.
DELETED = "_deleted"
