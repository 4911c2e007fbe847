#!/bin/sh
exec "$(dirname "$0")/submit.sh" spark-short alter_table "$@"
