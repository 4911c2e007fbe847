#!/usr/bin/env bash
# The image's entrypoint: one of the scripts in submit/, by its path or by its job's name.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

jobs() { find submit -maxdepth 1 -name '*.sh' ! -name submit.sh | sort; }

# --env docker: the properties of --env standalone, on the cluster of compose.yml. The driver's address is left out,
# because the workers call the driver back and loopback is not the same for them. The secret is in the file, because a
# driver takes it from its properties only, and `ps` shows a command line to everybody.
write_environment() {
  (
    umask 077
    {
      grep -vE '^spark\.driver\.(host|bindAddress)\b' conf/standalone.conf
      echo "spark.master $SPARK_MASTER_URL"
      echo "spark.authenticate true"
      echo "spark.authenticate.secret $ALLUVIUM_SPARK_SECRET"
    } > conf/docker.conf
  )
}

case "${1:-}" in
  ''|-h|--help)
    echo "usage: docker compose -f kafka_docker/compose.yml run --rm app submit/JOB.sh ARGS"
    echo "Each job explains itself with --help. There are:"
    jobs
    exit 0 ;;
  */*) script=$1 ;;
  *) script=submit/$1.sh ;;
esac
if ! jobs | grep --quiet --line-regexp --fixed-strings -e "$script"; then
  echo "error: no job '$1'; there are: $(jobs | tr '\n' ' ')" >&2
  exit 2
fi
shift

[ -z "${SPARK_MASTER_URL:-}" ] || write_environment
# The container's own address, for the same reason.
export SPARK_LOCAL_IP="${SPARK_LOCAL_IP:-$(hostname -i | cut -d ' ' -f 1)}"
exec "$script" "$@"
