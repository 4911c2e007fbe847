#!/bin/sh
exec "$(dirname "$0")/submit.sh" python voters_simulator "$@"
