#!/usr/bin/env bash
# Fetches what the build and the tests need into .deps/, pinned by deps/versions.env and deps/requirements-*.txt.
#
#   tools/deps.sh          build and test dependencies           (make deps)
#   tools/deps.sh test     also the servers that tests of object stores start   (make deps-test)
#   tools/deps.sh full     also Spark with its Iceberg jar, and Clang for the fuzz targets   (make deps-full)
#   tools/deps.sh duckdb   only DuckDB's library and headers   (`pip install .`)
#
# Safe to run again and from several shells at once: a part whose stamp still matches its pins is left alone.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:-base}
deps=.deps
# shellcheck source=../deps/versions.env
. deps/versions.env

say() { printf 'deps: %s\n' "$*"; }
die() { printf 'deps: %s\n' "$*" >&2; exit 1; }

apt_packages=(ccache ninja-build cmake g++ nlohmann-json3-dev libcli11-dev libfmt-dev libgtest-dev libgmock-dev
  libbenchmark-dev libcurl4-openssl-dev libzstd-dev clang-format-14 clang-tidy-14 lld python3-venv python3-dev git zlib1g-dev pkg-config)

# install_apt PACKAGE...: those that are missing; no apt call when none is.
install_apt() {
  command -v dpkg-query >/dev/null || { say "not a Debian system: install the equivalents of: $*"; return 0; }
  local missing=() name present
  present=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p' || true)
  for name in "$@"; do
    grep -qxF -- "$name" <<<"$present" || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  local root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "needs root or sudo to install: ${missing[*]}"
    root=(sudo)
  fi
  say "installing Debian packages: ${missing[*]}"
  local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
  "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null 2>&1 && return 0
  "${apt[@]}" update || die "apt-get update failed"
  "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null || die "apt-get install failed"
}

# part NAME KEY PROOF FUNCTION: runs FUNCTION unless the stamp holds KEY and the file PROOF is there.
part() {
  local name=$1 key=$2 proof=$3 run=$4 stamp=$deps/stamps/$1
  if [ -e "$proof" ] && [ -e "$stamp" ] && [ "$(<"$stamp")" = "$key" ]; then return 0; fi
  say "$name: fetching"
  local start=$SECONDS
  rm -f "$stamp"
  "$run"
  [ -e "$proof" ] || die "$name: $proof is missing after the fetch"
  printf '%s\n' "$key" >"$stamp"
  say "$name: done ($((SECONDS - start)) s)"
}

digest() { cat "$@" | sha256sum | cut -c1-64; }

check_sha256() {  # FILE EXPECTED
  local got
  got=$(sha256sum "$1" | cut -c1-64)
  [ "$got" = "$2" ] || die "$1 has SHA-256 $got, expected $2"
}

# The interpreter for the virtual environments: $PYTHON, else the first of these that is 3.11 or newer.
find_python() {
  local name
  for name in ${PYTHON:-} python3 python3.11 python3.12 python3.13; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo "$name"; return; fi
  done
  die "no Python 3.11 or newer found (set PYTHON)"
}

venv() {  # DIRECTORY REQUIREMENTS
  local python
  python=$(find_python)
  rm -rf "$1"
  "$python" -m venv "$1"
  "$1/bin/python" -m pip install -q --disable-pip-version-check --require-hashes --only-binary :all: ${3:-} -r "$2"
}

get_venv() { venv $deps/venv deps/requirements-build.txt; }
get_peer() { venv $deps/peer deps/requirements-peer.txt; }
get_bench() { venv $deps/bench deps/requirements-bench.txt; }
get_python() { venv $deps/python deps/requirements-python.txt; }

get_duckdb_lib() {
  local platform sha256 work
  case $(uname -m) in
    x86_64) platform=x64 sha256=$DUCKDB_NPM_X64_SHA256 ;;
    aarch64) platform=arm64 sha256=$DUCKDB_NPM_ARM64_SHA256 ;;
    *) die "no libduckdb.so for $(uname -m): install DuckDB 1.5.6 where CMake's find_package(DuckDB) finds it" ;;
  esac
  work=$(mktemp -d $deps/tmp.XXXXXX)
  (cd "$work" && npm pack --silent "@duckdb/node-bindings-linux-$platform@$DUCKDB_NPM_VERSION" >/dev/null)
  check_sha256 "$work"/*.tgz "$sha256"
  tar -xzf "$work"/*.tgz -C "$work"
  mkdir -p $deps/duckdb/lib
  # Renamed into place, so that a program using the old file keeps it.
  mv "$work/package/libduckdb.so" $deps/duckdb/lib/libduckdb.so
  mv "$work/package/LICENSE" $deps/duckdb/LICENSE
  rm -rf "$work"
}

get_duckdb_headers() {
  local work
  work=$(mktemp -d $deps/tmp.XXXXXX)
  $deps/venv/bin/python tools/fetch_sdist.py duckdb "$DUCKDB_SDIST_VERSION" "$DUCKDB_SDIST_SHA256" "$work/duckdb.tar.gz"
  tar -xzf "$work/duckdb.tar.gz" -C "$work" --strip-components=4 "duckdb-$DUCKDB_SDIST_VERSION/external/duckdb/src/include"
  mkdir -p $deps/duckdb
  rm -rf $deps/duckdb/include
  mv "$work/include" $deps/duckdb/include
  rm -rf "$work"
}

# Built from source; the modules and their hashes are pinned by go.mod and go.sum in FOLDER.
go_server() {  # FOLDER PACKAGE NAME
  local work
  work=$(mktemp -d $deps/tmp.XXXXXX)
  (cd "$1" && GOFLAGS=-mod=readonly go build -o "$OLDPWD/$work/$3" "$2")
  mkdir -p $deps/test-servers
  mv "$work/$3" "$deps/test-servers/$3"
  rm -rf "$work"
}

get_test_servers() { go_server deps/test-servers github.com/versity/versitygw/cmd/versitygw versitygw; }
get_gcs_server() {
  go_server deps/test-servers/fake-gcs-server github.com/fsouza/fake-gcs-server fake-gcs-server
}

# Versions and hashes are pinned by package-lock.json.
get_azure_server() {
  local work
  work=$(mktemp -d $deps/tmp.XXXXXX)
  cp deps/test-servers/azurite/package*.json "$work/"
  (cd "$work" && npm ci --silent --no-audit --no-fund --ignore-scripts)
  mkdir -p $deps/test-servers
  rm -rf $deps/test-servers/azurite
  mv "$work" $deps/test-servers/azurite
}

get_spark() { venv $deps/spark deps/requirements-spark.txt --no-binary=pyspark; }

get_spark_jars() {
  local jar=$ICEBERG_SPARK_ARTIFACT-$ICEBERG_SPARK_VERSION.jar work
  work=$(mktemp -d $deps/tmp.XXXXXX)
  mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy -DoutputDirectory="$PWD/$work" \
    -Dartifact="$ICEBERG_SPARK_GROUP:$ICEBERG_SPARK_ARTIFACT:$ICEBERG_SPARK_VERSION"
  check_sha256 "$work/$jar" "$ICEBERG_SPARK_SHA256"
  rm -rf $deps/spark-jars
  mkdir -p $deps/spark-jars
  mv "$work/$jar" $deps/spark-jars/
  rm -rf "$work"
}

mkdir -p $deps/stamps
exec 9>$deps/lock
flock 9
trap 'rm -rf $deps/tmp.*' EXIT

start=$SECONDS
[ "$mode" = duckdb ] || install_apt "${apt_packages[@]}"
command -v npm >/dev/null || install_apt npm

part venv "$DEPS_RECIPE $(digest deps/requirements-build.txt)" $deps/venv/bin/python get_venv
if [ "$mode" != duckdb ]; then
  part peer "$DEPS_RECIPE $(digest deps/requirements-peer.txt)" $deps/peer/bin/python get_peer
  part python "$DEPS_RECIPE $(digest deps/requirements-python.txt)" $deps/python/bin/python get_python
fi
part duckdb-lib "$DEPS_RECIPE $DUCKDB_NPM_VERSION $DUCKDB_NPM_X64_SHA256 $DUCKDB_NPM_ARM64_SHA256" \
  $deps/duckdb/lib/libduckdb.so get_duckdb_lib
part duckdb-headers "$DEPS_RECIPE $DUCKDB_SDIST_VERSION $DUCKDB_SDIST_SHA256" \
  $deps/duckdb/include/duckdb.hpp get_duckdb_headers

if [ "$mode" = test ]; then
  command -v go >/dev/null ||
    die "NO S3 AND NO GCS TEST SERVER: building them takes Go 1.26 or newer, which is not installed; see https://go.dev/dl/"
  part test-servers "$DEPS_RECIPE $(digest deps/test-servers/go.mod deps/test-servers/go.sum)" \
    $deps/test-servers/versitygw get_test_servers
  part test-server-gcs "$DEPS_RECIPE $(digest deps/test-servers/fake-gcs-server/go.{mod,sum})" \
    $deps/test-servers/fake-gcs-server get_gcs_server
  part test-server-azure "$DEPS_RECIPE $(digest deps/test-servers/azurite/package{,-lock}.json)" \
    $deps/test-servers/azurite/node_modules/.bin/azurite-blob get_azure_server
fi
if [ "$mode" = bench ]; then
  part bench "$DEPS_RECIPE $(digest deps/requirements-bench.txt)" $deps/bench/bin/python get_bench
fi
if [ "$mode" = full ]; then
  install_apt clang-14 libclang-rt-14-dev
  command -v java >/dev/null || install_apt openjdk-17-jre-headless
  command -v mvn >/dev/null || install_apt maven
  part spark "$DEPS_RECIPE $(digest deps/requirements-spark.txt)" $deps/spark/bin/python get_spark
  part spark-jars "$DEPS_RECIPE $ICEBERG_SPARK_VERSION $ICEBERG_SPARK_SHA256" \
    $deps/spark-jars/$ICEBERG_SPARK_ARTIFACT-$ICEBERG_SPARK_VERSION.jar get_spark_jars
fi
say "ready ($((SECONDS - start)) s)"
