"""The query benchmark: ours, the peer, DuckDB's reader on our files, ClickHouse's own table.

    python bench/query/run.py [--quick] [--reload]
                              [sections=cpu,iot,late,files,wide] [only=QUERY,...]
                              [runs=9] [cold-runs=5] [threads=2] [seed=1]
                              [systems=ours,peer,duckdb,clickhouse]
                              [hosts=200] [days=3] [trucks=200] [files=1000]
                              [wide-rows=20000000] [wide-series=1000000]
                              [work=build/bench-query] [out=bench/results] [build=build/release]

    cpu, iot  every query warm: the systems take turns with the same random parameters; the same
              query with other ones goes before, untimed
    late      0, 1 and 20 % of the rows sent again: dedup on read against none, warm and in a
              fresh process
    files     a table of many small appends: the first query of a fresh process
    wide      20 columns, many series: the first query of a fresh process

Every system is a process of its own; figures are medians. Before anything is timed the rows of all
systems are compared. Writes query.json, query.md and query.png to `out`; sections that are not
asked for stay as they are there. --quick is a run of a minute on tiny data. Like a run of some
queries only it writes to WORK/results unless `out` is given. --reload makes our tables anew, for
after a change to what we write.
"""

import json
import os
import pathlib
import platform
import random
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
from system import ROOT, System, check, chosen, load, medians, tell

DEFAULTS = {"sections": "cpu,iot,late,files,wide", "only": "", "runs": "9", "cold-runs": "5",
            "systems": "ours,peer,duckdb,clickhouse", "threads": "2", "seed": "1",
            "hosts": "200", "days": "3", "trucks": "200", "files": "1000",
            "wide-rows": "20000000", "wide-series": "1000000",
            "work": "build/bench-query", "out": "", "build": "build/release"}
QUICK = {"runs": "3", "cold-runs": "1", "hosts": "20", "days": "1", "trucks": "20", "files": "20",
         "wide-rows": "100000", "wide-series": "5000"}


def parse(arguments):
    flags = {argument for argument in arguments if argument in ("--quick", "--reload")}
    given = dict(argument.partition("=")[::2] for argument in arguments if argument not in flags)
    unknown = set(given) - set(DEFAULTS)
    if unknown:
        raise SystemExit(f"unknown option {sorted(unknown)[0]}\n{__doc__}")
    quick = "--quick" in flags
    options = {**DEFAULTS, **(QUICK if quick else {}), **given, "reload": "--reload" in flags}
    options["work"] = (ROOT / options["work"]).resolve()
    usual = options["work"] / "results" if quick or options["only"] else ROOT / "bench/results"
    options["out"] = ROOT / options["out"] if options["out"] else usual
    return options


def warm(section, folder, options):
    """Medians of the systems in turn: {query: {system: milliseconds}}."""
    wanted = chosen(queries.of_table("cpu") if section == "cpu" else queries_iot.ALL, options)
    series = int(options["hosts" if section == "cpu" else "trucks"])
    rnd = random.Random(int(options["seed"]))
    draw = lambda: queries.Parameters.draw(rnd, series, int(options["days"]))
    systems = [System(name, folder, options) for name in options["systems"].split(",")]
    rows = {}
    try:
        for query in wanted:
            for _ in range(2):
                check(systems, query, draw())
            times = {system.name: [] for system in systems}
            for _ in range(int(options["runs"])):
                parameters, others = draw(), draw()
                for system in rnd.sample(systems, len(systems)):
                    sql = query.make(parameters, system.dialect)
                    if sql is None:
                        continue
                    # The processor's caches hold another system's code and data.
                    system.ask(query.make(others, system.dialect))
                    times[system.name].append(system.ask(sql)["ms"])
            rows[query.name] = medians(times)
            tell(query.name, rows[query.name])
    finally:
        for system in systems:
            system.close()
    return {"systems": [system.name for system in systems], "rows": rows}


MEASURES = {"cpu": warm, "iot": warm, "late": late.measure, "files": cold.measure,
            "wide": cold.measure}


def loading(section, options):
    """The systems that fill tables of their own; DuckDB reads ours."""
    others = ("peer",) if section == "late" else ("peer", "clickhouse")
    return ["ours", *(name for name in others if name in options["systems"].split(","))]


def machine():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
        models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{models[0] if models else platform.machine()}, {os.cpu_count()} cores"


def run(section, options):
    begin = time.monotonic()
    folder = sections.prepare(section, options["work"], options)
    if options["reload"]:
        (folder / "ours.loaded").unlink(missing_ok=True)
    for name in loading(section, options):
        load(name, folder, options["build"])
    ready = time.monotonic() - begin
    print(f"-- {section}: data ready after {ready:.0f} s", file=sys.stderr, flush=True)
    measured = MEASURES[section](section, folder, options)
    print(f"-- {section}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    return {"scale": {name: options[name] for name in sections.SCALES}, "machine": machine(),
            "threads": options["threads"], "runs": options["runs"],
            "cold_runs": options["cold-runs"], **measured}


def main():
    options = parse(sys.argv[1:])
    out = options["out"]
    out.mkdir(parents=True, exist_ok=True)
    kept = out / "query.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    for section in options["sections"].split(","):
        results[section] = run(section, options)
        kept.write_text(json.dumps(results, indent=1) + "\n")
    text = report.markdown(results)
    (out / "query.md").write_text(text)
    subprocess.run([ROOT / ".deps/bench/bin/python", ROOT / "bench/query/plot.py", kept,
                    out / "query.png"], check=True)
    print(text)


if __name__ == "__main__":
    main()
