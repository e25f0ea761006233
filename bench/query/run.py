"""The query benchmark: ours, the peer, DuckDB's own Parquet reader on our files, ClickHouse's own table.

    python bench/query/run.py [--quick] [sections=cpu,iot,late,files,wide] [only=QUERY,...] [runs=9] [cold-runs=5]
                              [systems=ours,peer,duckdb,clickhouse] [threads=2] [seed=1]
                              [hosts=200] [days=3] [trucks=200] [files=1000] [wide-rows=20000000] [wide-series=1000000]
                              [work=build/bench-query] [out=bench/results] [build=build/release]

    cpu, iot  every query warm: the systems take turns with the same random parameters
    late      0, 1 and 20 % of the rows sent again: dedup on read against none, warm and in a fresh process
    files     a table of many small appends: the first query of a fresh process
    wide      20 columns, many series: the first query of a fresh process

Every system is a process of its own; figures are medians. Before anything is timed the rows of all systems are compared.
Writes query.json, query.md and query.png to `out`; sections that are not asked for stay as they are there. --quick is a
run of a minute on tiny data. Like a run of some queries only it writes to WORK/results unless `out` is given.
"""

import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import cold
import late
import queries
import queries_iot
import report
import sections
from system import ROOT, System, check, load

DEFAULTS = {"sections": "cpu,iot,late,files,wide", "only": "", "runs": "9", "cold-runs": "5",
            "systems": "ours,peer,duckdb,clickhouse", "threads": "2", "seed": "1", "hosts": "200", "days": "3",
            "trucks": "200", "files": "1000", "wide-rows": "20000000", "wide-series": "1000000",
            "work": "build/bench-query", "out": "", "build": "build/release"}
QUICK = {"runs": "3", "cold-runs": "1", "hosts": "20", "days": "1", "trucks": "20", "files": "20",
         "wide-rows": "100000", "wide-series": "5000"}


def parse(arguments):
    given = dict(argument.split("=", 1) for argument in arguments if argument != "--quick")
    unknown = set(given) - set(DEFAULTS)
    if unknown:
        raise SystemExit(f"unknown option {sorted(unknown)[0]}\n{__doc__}")
    quick = "--quick" in arguments
    options = {**DEFAULTS, **(QUICK if quick else {}), **given}
    options["work"] = (ROOT / options["work"]).resolve()
    partial = quick or options["only"]
    options["out"] = ROOT / (options["out"] or (options["work"] / "results" if partial else "bench/results"))
    return options


def warm(section, folder, options):
    """Medians of the systems in turn: {query: {system: milliseconds}}."""
    wanted, series = ((queries.of_table("cpu"), "hosts") if section == "cpu" else (queries_iot.ALL, "trucks"))
    wanted = [query for query in wanted if not options["only"] or query.name in options["only"].split(",")]
    rnd = random.Random(int(options["seed"]))
    draw = lambda: queries.Parameters.draw(rnd, int(options[series]), int(options["days"]))
    systems = [System(name, folder, options) for name in options["systems"].split(",")]
    rows = {}
    try:
        for query in wanted:
            for _ in range(2):
                check(systems, query, draw())
            times = {}
            for _ in range(int(options["runs"])):
                parameters = draw()
                for system in rnd.sample(systems, len(systems)):
                    sql = query.make(parameters, system.dialect)
                    if sql is not None:
                        times.setdefault(system.name, []).append(system.ask(sql)["ms"])
            rows[query.name] = {s.name: statistics.median(times[s.name]) for s in systems if s.name in times}
            print(query.name, *(f"{name} {ms:.2f} ms" for name, ms in rows[query.name].items()), file=sys.stderr,
                  flush=True)
    finally:
        for system in systems:
            system.close()
    return {"systems": [system.name for system in systems], "rows": rows}


MEASURES = {"cpu": warm, "iot": warm, "late": late.measure, "files": cold.measure, "wide": cold.measure}
LOADED = {"cpu": ("ours", "peer", "clickhouse"), "iot": ("ours", "peer", "clickhouse"), "late": ("ours", "peer"),
          "files": ("ours", "peer", "clickhouse"), "wide": ("ours", "peer", "clickhouse")}


def machine():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
        models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{models[0] if models else platform.machine()}, {os.cpu_count()} cores"


def main():
    options = parse(sys.argv[1:])
    options["out"].mkdir(parents=True, exist_ok=True)
    kept = options["out"] / "query.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    for section in options["sections"].split(","):
        begin = time.monotonic()
        folder = sections.prepare(section, options["work"], options)
        for name in LOADED[section]:
            if name in options["systems"].split(",") or name == "ours":
                load(name, folder, options["build"])
        print(f"-- {section}: data ready after {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
        measured = MEASURES[section](section, folder, options)
        scale = {name: options[name] for name in ("hosts", "days", "trucks", "files", "wide-rows", "wide-series")}
        results[section] = {"scale": scale, "threads": options["threads"], "runs": options["runs"],
                            "cold_runs": options["cold-runs"], "machine": machine(), **measured}
        print(f"-- {section}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    kept.write_text(json.dumps(results, indent=1) + "\n")
    text = report.markdown(results)
    (options["out"] / "query.md").write_text(text)
    subprocess.run([ROOT / ".deps/bench/bin/python", ROOT / "bench/query/plot.py", kept, options["out"] / "query.png"],
                   check=True)
    print(text)


if __name__ == "__main__":
    main()
