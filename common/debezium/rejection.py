"""Why a message of Debezium is turned away: a bad record is data, and its reason is a code."""

from enum import StrEnum


class Reason(StrEnum):
    """Codes for the column `reason` of the quarantine."""

    NOT_AN_ENVELOPE = "NOT_AN_ENVELOPE"
    FLATTENED_EVENT = "FLATTENED_EVENT"
    UNKNOWN_OPERATION = "UNKNOWN_OPERATION"
    UNKNOWN_SNAPSHOT = "UNKNOWN_SNAPSHOT"
    KEY_MISMATCH = "KEY_MISMATCH"
    KEY_MISSING = "KEY_MISSING"
    ROW_MISSING = "ROW_MISSING"
    UNREPRESENTABLE = "UNREPRESENTABLE"
    UNKNOWN_UNCHANGED = "UNKNOWN_UNCHANGED"


class Rejected(Exception):
    """A message that must not reach its table. The message of the error says what is wrong and what repairs it."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(reason, message)
        self.reason = reason
        self.message = message

    def __str__(self) -> str:
        return self.message
