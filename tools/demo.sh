#!/usr/bin/env bash
# The main job on real data: import, look, query, and let another engine read the same folder.
set -euo pipefail
cd "$(dirname "$0")/.."
timelake=${TIMELAKE_BIN:-build/dev/timelake}
python=${TIMELAKE_PYTHON:-.deps/venv/bin/python}
warehouse=$(mktemp -d "${TMPDIR:-/tmp}/timelake-demo.XXXXXX")
trap 'rm -rf "$warehouse"' EXIT
export TIMELAKE_WAREHOUSE=$warehouse

say() { printf '\n\033[1m== %s\033[0m\n' "$1"; }
run() { printf '$ timelake'; printf ' %q' "$@"; printf '\n'; "$timelake" "$@"; }

say 'Import one year of hourly weather of three airports (CSV, NA for missing)'
run import weather examples/data/nyc_weather.csv.gz \
  --time-column time_hour --series-key origin --chunk month

say 'What is in the table'
run info weather

say 'The latest row of every station, from the last-value index'
run sql 'SELECT origin, time_hour, temp, humid, wind_speed FROM weather
         QUALIFY row_number() OVER (PARTITION BY origin ORDER BY time_hour DESC) = 1 ORDER BY origin'
run latest weather --format csv

say 'Daily average by station'
run sql "SELECT time_bucket(INTERVAL '1 day', time_hour) AS day, origin, round(avg(temp), 1) AS temp,
                count(*) AS n
         FROM weather WHERE time_hour >= '2013-07-01' AND time_hour < '2013-07-04'
         GROUP BY ALL ORDER BY day, origin"

say 'The same folder read by PyIceberg, with no Timelake software'
ours=$("$timelake" sql --format csv 'SELECT count(*) AS n, round(sum(temp), 2) AS s FROM weather' | tail -n 1)
theirs=$("$python" - "$warehouse/default/weather" <<'PY'
import sys
from pyiceberg.table import StaticTable
table = StaticTable.from_metadata(sys.argv[1]).scan(selected_fields=("temp",)).to_arrow()
print(f"{table.num_rows},{round(sum(v for v in table['temp'].to_pylist() if v is not None), 2)}")
PY
)
echo "timelake:  rows and sum of temperatures  $ours"
echo "pyiceberg: rows and sum of temperatures  $theirs"
[ "$ours" = "$theirs" ] || { echo 'the two engines disagree' >&2; exit 1; }
