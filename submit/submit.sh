#!/usr/bin/env bash
# The one place where a job's command is composed. Called by the scripts beside it:
#   submit.sh spark       JOB [--env local|standalone] ARGS…   spark-submit of jobs/JOB.py with dist/common.zip
#   submit.sh spark-short JOB …                                the same for a job of seconds: the JVM compiles less
#   submit.sh python      JOB ARGS…                            a job that needs no Spark
#   submit.sh shell       JOB …                                the pyspark shell, which runs jobs/JOB.py first
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fail() { echo "error: $1" >&2; exit 2; }

runtime=$1 job=$2
shift 2

environment=${ALLUVIUM_ENV:-local}
given=
arguments=()
help=
while [ $# -gt 0 ]; do
  case "$1" in
    --env) [ $# -ge 2 ] || fail "--env needs a value: local or standalone"; environment=$2 given=$2; shift 2 ;;
    --env=*) environment=${1#--env=} given=${1#--env=}; shift ;;
    --help) help=yes; arguments+=("$1"); shift ;;
    *) arguments+=("$1"); shift ;;
  esac
done
conf="$home/conf/$environment.conf"
[ -f "$conf" ] || fail "no environment '$environment' ($conf); there are: $(cd "$home/conf" && echo *.conf | sed 's/\.conf//g')"
python="$home/.venv/bin/python"
[ -x "$python" ] && [ -f "$home/dist/common.zip" ] && [ -d "$home/build/jars/kernel" ] || fail "nothing is built yet; run $home/build.sh first"

# Cron gives an almost empty environment: what build.sh found is written down.
if [ -z "${JAVA_HOME:-}" ] && ! command -v java >/dev/null 2>&1 && [ -f "$home/build/java_home" ]; then
  JAVA_HOME=$(cat "$home/build/java_home")
  export JAVA_HOME
fi
export ALLUVIUM_HOME="$home"
# A remedy that a job prints repeats it.
export ALLUVIUM_GIVEN_ENV="$given"
export ALLUVIUM_LOG_DIR="${ALLUVIUM_LOG_DIR:-$home/var/log}"
export ALLUVIUM_RUN_ID="${ALLUVIUM_RUN_ID:-$(date -u +%Y%m%dT%H%M%SZ)-$$}"
export PYTHONPATH="$home/dist/common.zip"
# Logs name keys: a folder that is made here is its owner's alone. Tables get the umask of whoever runs the job.
(umask 077 && mkdir -p "$ALLUVIUM_LOG_DIR")

if [ "$runtime" = python ] || [ -n "$help" ]; then
  # Generators are no part of the zip: no executor needs them.
  export PYTHONPATH="$PYTHONPATH:$home"
  exec "$python" "$home/jobs/$job.py" ${arguments[@]+"${arguments[@]}"}
fi

# Spark's scratch files, in a folder of this run. The lock on its file is ours until the JVM ends, however it ends: by it
# the next start knows what a killed job has left behind, and removes it.
scratch=${ALLUVIUM_SCRATCH_DIR:-$home/var/scratch}/$ALLUVIUM_RUN_ID.$$
(umask 077 && mkdir -p "$scratch") || fail "cannot make $scratch; set ALLUVIUM_SCRATCH_DIR"
exec 9>>"$scratch/lock"
"$python" "$home/submit/scratch.py" "$scratch" 9
export SPARK_LOCAL_DIRS="${SPARK_LOCAL_DIRS:-$scratch}" TMPDIR="$scratch"
SPARK_HOME=$("$python" -c 'import importlib.util as u; print(u.find_spec("pyspark").submodule_search_locations[0])')
export SPARK_HOME PYSPARK_PYTHON="$python" PYSPARK_DRIVER_PYTHON="$python"
# Spark's own address check otherwise warns on stderr at each start.
export SPARK_LOCAL_IP="${SPARK_LOCAL_IP:-127.0.0.1}"
# With one compiler tier a job of seconds needs half the processor time; a job of minutes would lose by it.
jvm=
[ "$runtime" = spark-short ] && jvm="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# Made by class_archive.sh; a JVM that it does not fit ignores it.
jvm="$jvm -Xlog:cds=off -Xlog:cds+dynamic=off"
[ -f "$home/build/classes.jsa" ] && jvm="$jvm -XX:SharedArchiveFile=$home/build/classes.jsa"
jvm="$jvm ${ALLUVIUM_DRIVER_JAVA_OPTIONS:-}"
master=()
[ -n "${ALLUVIUM_MASTER:-}" ] && master=(--master "$ALLUVIUM_MASTER")
# A driver takes the cluster's secret from its properties only, and on the command line every user of the machine could
# read it: it joins the properties in a file that only we can read.
secret=${ALLUVIUM_SPARK_SECRET_FILE:-${ALLUVIUM_SERVICES_DIR:-$home/var/services}/spark/secret}
if [ "$environment" != local ] && [ -r "$secret" ]; then
  with_secret=$(dirname "$secret")/$environment.conf
  (umask 077 && { cat "$conf"; printf '\nspark.authenticate.secret %s\n' "$(cat "$secret")"; } > "$with_secret")
  conf=$with_secret
fi
jars=$(printf '%s,' "$home"/build/jars/spark/*.jar)
# The driver has them on its class path too: classes that come by --jars cannot be archived.
class_path=$(printf '%s:' "$home"/build/jars/spark/*.jar)
# The only way to stand behind Spark's own classes on the driver's class path.
behind=$(printf '%s:' "$home"/build/jars/kernel/*.jar)
export SPARK_DIST_CLASSPATH="${SPARK_DIST_CLASSPATH:+$SPARK_DIST_CLASSPATH:}${behind%:}"

options=(
  --properties-file "$conf" ${master[@]+"${master[@]}"}
  --name "$job"
  --jars "${jars%,}" --driver-class-path "${class_path%:}"
  --py-files "$home/dist/common.zip"
  --driver-java-options "$jvm -Djava.io.tmpdir=$scratch -Dlog4j2.configurationFile=file:$home/conf/log4j2.properties -Dalluvium.log=$ALLUVIUM_LOG_DIR/$job-spark.log -Dalluvium.run=$ALLUVIUM_RUN_ID"
)
if [ "$runtime" = shell ]; then
  [ ${#arguments[@]} -eq 0 ] || fail "the shell takes no argument '${arguments[0]}'; see --help"
  # -i: commands may also come through a pipe, and the startup file is run all the same. A catalog in memory is this
  # process's own, where Spark's default would lock a database in the current folder.
  export PYTHONSTARTUP="$home/jobs/$job.py" PYSPARK_DRIVER_PYTHON_OPTS=-i
  exec "$SPARK_HOME/bin/pyspark" "${options[@]}" \
    --conf spark.sql.catalogImplementation=in-memory --conf "spark.sql.warehouse.dir=$home/var/warehouse"
fi

exec "$SPARK_HOME/bin/spark-submit" "${options[@]}" "$home/jobs/$job.py" ${arguments[@]+"${arguments[@]}"}
