"""Connectors: what Kafka Connect is told, what the source database needs for it, and whether both are well."""
