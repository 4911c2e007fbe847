"""Files of readings sent to Kafka: read and checked, keyed by the table's key, paced, delivered or reported."""
