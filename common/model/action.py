"""The actions of a merge on one row: copied, inserted, updated, deleted, superseded or absent."""

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
