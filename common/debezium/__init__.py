"""What Alluvium knows of Debezium: topics, schemas, types, order and meaning of events. Nothing here needs Spark."""
