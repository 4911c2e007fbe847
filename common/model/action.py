"""What a merge does with a row: copy it, insert, update or delete it; or why it does nothing with a change."""

ACTION = "_action"
COPY = "copied"
INSERT = "inserted"
UPDATE = "updated"
DELETE = "deleted"
# A row of the table is newer than the change.
SUPERSEDED = "superseded"
# The change deletes a key that the table does not have.
ABSENT = "absent"
ACTIONS = (COPY, INSERT, UPDATE, DELETE, SUPERSEDED, ABSENT)
