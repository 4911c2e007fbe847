#!/usr/bin/env bash
# Builds everything the jobs need: .venv (locked, hashed), build/jars (locked, hashed), dist/common.zip.
# Run again, it does only what has changed.
#
#   ./build.sh                 the environment, the Spark and Delta jars, dist/common.zip
#   ./build.sh --jars GROUP…   the jars of further groups of conf/jars.lock (kafka, connect, debezium, registry, postgres, iceberg)
set -euo pipefail
cd "$(dirname "$0")"

fail() { echo "error: $*" >&2; exit 1; }

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3.11 python3 python}; do
    if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
      echo "$candidate"; return
    fi
  done
  fail "no Python 3.11 to 3.13 found (looked for: ${PYTHON:-python3.11 python3 python}); install it, or set PYTHON to its path"
}

check_java() {
  local java="${JAVA_HOME:+$JAVA_HOME/bin/}java" said version
  said=$("$java" -XshowSettings:properties -version 2>&1) || true
  version=$(sed -n 's/.* version "\([0-9]*\).*/\1/p' <<<"$said")
  [ -n "$version" ] || fail "no Java found (tried '$java'); install a Java 17 runtime, or set JAVA_HOME to one"
  case "$version" in
    17|18|19|2[0-3]) ;;
    *) fail "Java $version found ('$java'), Spark 4.0 needs 17 to 23; install Java 17, or set JAVA_HOME to one" ;;
  esac
  java_home=$(sed -n 's/^ *java\.home = //p' <<<"$said")
}

# Cron's PATH is short: where Java is, is written down for the jobs.
remember_java() {
  mkdir -p build
  [ "$(cat build/java_home 2>/dev/null)" = "$java_home" ] || echo "$java_home" > build/java_home
}

build_environment() {
  local python="$1" wanted partial=.venv.partial
  wanted=$(cat requirements-build.txt requirements.txt requirements-dev.txt | "$python" -c 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())')
  [ "$(cat .venv/.locked 2>/dev/null)" = "$wanted" ] && return
  rm -rf "$partial"
  "$python" -m venv "$partial" >/dev/null 2>&1 || { rm -rf "$partial"; fail "$python cannot make a virtual environment; install its venv module (Debian: python3-venv)"; }
  reach_package_index "$partial"
  rm -rf .venv "$partial"
  echo "installing the Python packages (pyspark alone is 430 MB)" >&2
  "$python" -m venv .venv
  # pyspark comes as a source archive: its build tools are pinned too, so nothing unlocked is fetched to build it.
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-build.txt
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --no-build-isolation \
    -r requirements.txt -r requirements-dev.txt
  echo "$wanted" > .venv/.locked
}

reach_package_index() {
  local said
  if ! said=$("$1/bin/python" -m pip download --quiet --disable-pip-version-check --retries 1 --timeout 20 --require-hashes \
      --no-deps --dest "$1/probe" -r requirements-build.txt 2>&1); then
    rm -rf "$1"
    fail "pip cannot fetch packages ($(echo "$said" | grep -iE 'error' | tail -n 1 | cut -c1-160)); check the network, or set PIP_INDEX_URL to your mirror"
  fi
}

main() {
  local python
  python=$(find_python)
  check_java
  build_environment "$python"
  remember_java
  if [ "${1:-}" = "--jars" ]; then
    shift
    exec .venv/bin/python submit/jars.py fetch "$@"
  fi
  [ $# -eq 0 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
  .venv/bin/python submit/jars.py fetch spark kernel
  .venv/bin/python submit/package.py
}

main "$@"
