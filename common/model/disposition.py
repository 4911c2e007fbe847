"""What becomes of a record: merged, folded into a newer record of its key, late, quarantined, or null."""

DISPOSITION = "_disposition"
MERGE = "merge"
FOLDED = "folded"
LATE = "late"
QUARANTINED = "quarantined"
NULL = "null"
DISPOSITIONS = (MERGE, FOLDED, LATE, QUARANTINED, NULL)
# Why a record is quarantined, as a code and in words; null for every other record.
REASON = "_reason"
MESSAGE = "_message"
# True for a record that deletes the row of its key.
DELETED = "_deleted"
