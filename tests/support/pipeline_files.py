"""Pipeline files for tests of commands."""

# The least that a file must say, and where the table lies.
PIPELINE_AT = """
[source]
topic = "any"
columns = {{ id = "bigint" }}
[target]
path = "{path}"
keys = ["id"]
"""
