"""24 writer processes with 50 appends each on one table while a maintainer runs, against the peer.

    python bench/concurrency/run.py [writers=24] [appends=50] [build=build/release] [work=build/bench-concurrency]
                                    [out=bench/results]

On local disk and on versitygw. Who wrote what is in tests/concurrency.py; rows are read back by the system that wrote them.
Writes bench/results/concurrency.md.
"""

import collections
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import concurrency
import s3_server

PYTHONS = {"ours": ROOT / ".deps/python/bin/python", "peer": ROOT / ".deps/peer/bin/python"}
CREATE = """
import json, sys, pyarrow as pa, timelake
schema = pa.schema([("time", pa.timestamp("us", tz="UTC")), ("writer", pa.string()), ("id", pa.int64())])
lake = timelake.Lake(sys.argv[1], storage_options=json.loads(sys.argv[2]))
lake.create_table("t", schema, time_column="time", series_key=["writer"], dedup=False)
"""
READ = """
import json, sys, pyarrow as pa, timelake
lake = timelake.Lake(sys.argv[1], storage_options=json.loads(sys.argv[2]))
print(json.dumps(pa.table(lake.sql("SELECT id FROM t"))["id"].to_pylist()))
"""


def main():
    options = {"writers": "24", "appends": "50", "build": "build/release", "work": "build/bench-concurrency",
               "out": "bench/results"}
    for argument in sys.argv[1:]:
        key, separator, value = argument.partition("=")
        if not separator or key not in options:
            raise SystemExit(__doc__)
        options[key] = value
    work = ROOT / options["work"]
    shutil.rmtree(work, ignore_errors=True)
    lines = ["# Concurrent writers", "",
             f"{options['writers']} processes, {options['appends']} appends of {concurrency.ROWS} rows each, on one table, while "
             f"another process maintains it all the time; {os.cpu_count()} cores, {platform.machine()}, one run; ours from {options['build']}. Lost: appends "
             "that were acknowledged and are not there. Ours makes each commit durable on local disk, the peer does not.", "",
             "| store | system | acknowledged | lost | twice | failed | unknown | s | p50, ms | p99, ms | maintenance: rounds, failed |",
             "|---|---|---|---|---|---|---|---|---|---|---|"]
    with s3_server.running() as server:
        for store in ("local disk", "versitygw"):
            for system, python in PYTHONS.items():
                local = store == "local disk"
                warehouse = str(work / system) if local else f"s3://{server.bucket()}/wh"
                storage = {} if local else server.options
                env = dict(os.environ, TZ="UTC")
                if system == "ours":
                    env["PYTHONPATH"] = str(ROOT / options["build"] / "python")

                def call(text):
                    return subprocess.run([python, "-c", text, warehouse, json.dumps(storage)], env=env, check=True,
                                          stdout=subprocess.PIPE, text=True, timeout=600).stdout

                call(CREATE)
                report = concurrency.run(str(python), env, system, warehouse, storage, lambda: json.loads(call(READ)),
                                         int(options["writers"]), int(options["appends"]))
                kinds = collections.Counter(text.split(":")[0] for text in report.failed)
                print(store, system, report, file=sys.stderr, flush=True)
                failed = ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "0"
                lines.append(f"| {store} | {system} | {report.acknowledged} of {report.sent} | {report.lost} | {report.doubled} | "
                             f"{failed} | {report.unknown} | {report.seconds:.1f} | {report.p50_ms:.0f} | {report.p99_ms:.0f} | "
                             f"{report.maintained['rounds']}, {report.maintained['failures']} |")
    text = "\n".join([*lines, ""])
    out = ROOT / options["out"]
    out.mkdir(parents=True, exist_ok=True)
    (out / "concurrency.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
