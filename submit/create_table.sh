#!/bin/sh
exec "$(dirname "$0")/submit.sh" spark-short create_table "$@"
