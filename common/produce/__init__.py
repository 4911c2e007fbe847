"""Send files of readings to Kafka: check them, key each by the table's key, pace, and deliver or report them."""
