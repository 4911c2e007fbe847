#!/usr/bin/env bash
# The temperatures pipeline from nothing to both counts, on embedded services, in a clean folder of its own.
#   demo.sh batch|stream
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:-batch}
case "$mode" in batch | stream) ;; *) echo "error: MODE is '$mode'; say batch or stream" >&2; exit 2 ;; esac

demo=var/demo
table=$demo/spring_tx_temps_delta
topic=temperatures
steps=8 step=0
export ALLUVIUM_SERVICES_DIR=$PWD/$demo/services ALLUVIUM_LOG_DIR=$PWD/$demo/log

say() { step=$((step + 1)); printf '\n[%d/%d] %s\n' "$step" "$steps" "$*"; }
finish() {
  local code=$?
  kafka_docker/services stop >/dev/null 2>&1 || true
  [ "$code" -eq 0 ] || echo "the demo failed; its logs are in $demo/log" >&2
}

say "Build: the environment, the jars, dist/common.zip"
./build.sh
./build.sh --jars kafka
trap finish EXIT
kafka_docker/services stop >/dev/null 2>&1 || true
rm -rf "$demo"

say "Generate four years of hourly temperatures, and half a year of new hours and corrections"
.venv/bin/python -m datasets.temperatures "$demo/data"

say "Load the base: parquet files into a new Delta table"
submit/temperatures_delta_processing.sh "$demo/data/base" "$table"
submit/delta_reader.sh "$table"

say "Start Kafka and create the topic '$topic'"
ALLUVIUM_KAFKA_PORT=$(.venv/bin/python -c "from kafka_docker.embedded.ports import free_port; print(free_port())")
export ALLUVIUM_KAFKA_PORT
kafka_docker/services start kafka
kafka_docker/services create-topic "$topic" --partitions 3

say "Produce the new hours and the corrections"
submit/weather_producer.sh "$demo/data/streaming/weather.json" "$demo/data/streaming/location_master.json" \
  --brokers "127.0.0.1:$ALLUVIUM_KAFKA_PORT" --topic "$topic"

if [ "$mode" = batch ]; then
  say "Merge, as a loop over offsets: it waits while the topic is quiet, here for seconds instead of minutes"
  submit/streaming_merge.sh --mode batch --wait 1 --give-up 3 "$table" "127.0.0.1:$ALLUVIUM_KAFKA_PORT" "$topic"
else
  say "Merge, as a stream"
  submit/streaming_merge.sh --mode stream --trigger available-now "$table" "127.0.0.1:$ALLUVIUM_KAFKA_PORT" "$topic"
fi

say "Count again"
submit/delta_reader.sh "$table"

say "Check every value with delta-rs, a reader that shares no code with Spark"
.venv/bin/python -m datasets.verify_temperatures "$demo/data" "$table"
