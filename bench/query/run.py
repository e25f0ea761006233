"""The query benchmark: ours, the peer, DuckDB's own Parquet reader on our files, ClickHouse's own table.

    python bench/query/run.py [work=build/bench-query] [hosts=200] [days=3] [threads=2] [runs=9] [only=NAME,...]
                              [systems=ours,peer,duckdb,clickhouse] [build=build/release] [seed=1]

Every system is a process of its own, warm; the systems take turns on every query with the same random parameters; the
figure is the median. Before anything is timed the rows of all systems are compared. Writes bench/results/query.md and
query.png.
"""

import base64
import json
import math
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys

import pyarrow as pa

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import queries

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHONS = {"ours": ".deps/python", "peer": ".deps/peer", "duckdb": ".deps/bench", "clickhouse": ".deps/bench"}
DIALECTS = {"ours": queries.Dialect(), "peer": queries.DataFusion(), "duckdb": queries.DuckDb(),
            "clickhouse": queries.ClickHouse()}
FOLDERS = {"ours": "ours", "peer": "peer", "duckdb": "ours", "clickhouse": "clickhouse"}


class System:
    def __init__(self, name, work, options):
        self.name = name
        self.dialect = DIALECTS[name]
        env = dict(os.environ, TZ="UTC")
        if name == "ours":
            env["PYTHONPATH"] = str(ROOT / options["build"] / "python")
        self.process = subprocess.Popen(
            [ROOT / PYTHONS[name] / "bin/python", ROOT / "bench/query/serve.py", name, work / FOLDERS[name],
             work / "data", options["threads"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        if self.process.stdout.readline().strip() != "ready":
            raise SystemExit(f"{name} did not start")

    def ask(self, query, parameters, rows=False):
        request = {"sql": query.make(parameters, self.dialect), "rows": rows}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise SystemExit(f"{self.name}: {query.name}: {answer['error']}\n{request['sql']}")
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)


def plain(value):
    if hasattr(value, "timestamp"):
        return int(value.timestamp() * 1_000_000)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float):
        return float(f"{value:.12g}")
    return value


def rows_of(answer, ordered):
    table = pa.ipc.open_stream(base64.b64decode(answer["rows"])).read_all()
    for i, name in enumerate(table.column_names):  # ClickHouse's buckets are seconds
        if name in ("minute", "hour") and pa.types.is_integer(table.schema.field(i).type):
            table = table.set_column(i, name, table.column(i).cast(pa.int64()).cast(pa.timestamp("s", "UTC")))
    rows = [tuple(plain(value) for value in row.values()) for row in table.to_pylist()]
    return rows if ordered else sorted(rows)


def check(systems, query, parameters):
    expected = None
    for system in systems:
        rows = rows_of(system.ask(query, parameters, rows=True), query.ordered)
        if query.name == "newest-10":  # hosts sort as text here and by bytes there
            rows = sorted(rows)
        if expected is None:
            expected = rows
        elif rows != expected:
            raise SystemExit(f"{query.name}: {system.name} differs from {systems[0].name}:\n"
                             f"{expected[:3]} ({len(expected)} rows)\n{rows[:3]} ({len(rows)} rows)")


def measure(systems, wanted, options):
    rnd = random.Random(int(options["seed"]))
    draw = lambda: queries.Parameters.draw(rnd, int(options["hosts"]), int(options["days"]))
    times = {}
    for query in wanted:
        for _ in range(2):
            check(systems, query, draw())
        for _ in range(int(options["runs"])):
            parameters = draw()
            for system in rnd.sample(systems, len(systems)):
                times.setdefault((query.name, system.name), []).append(system.ask(query, parameters)["ms"])
        print(query.name, *(f"{s.name} {statistics.median(times[query.name, s.name]):.2f} ms" for s in systems),
              file=sys.stderr, flush=True)
    return {key: statistics.median(values) for key, values in times.items()}


def report(medians, names, wanted, options):
    others = [name for name in names if name != "ours"]
    lines = [f"# Query benchmark: {options['hosts']} hosts, {options['days']} days, {options['threads']} threads", "",
             f"Medians of {options['runs']} runs in turn, milliseconds; x: ours divided by theirs (below 1: ours is "
             f"faster). {platform.machine()}, {os.cpu_count()} cores.", "",
             "| query | ours | " + " | ".join(f"{name} | x" for name in others) + " |",
             "|---" * (2 + 2 * len(others)) + "|"]
    ratios = {name: [] for name in others}
    for query in wanted:
        own = medians[query.name, "ours"]
        cells = [query.name, f"{own:.2f}"]
        for name in others:
            ratio = own / medians[query.name, name]
            ratios[name].append(ratio)
            cells += [f"{medians[query.name, name]:.2f}", f"{ratio:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    means = ["geometric mean", ""]
    for name in others:
        means += ["", f"{math.exp(statistics.fmean(map(math.log, ratios[name]))):.2f}"]
    lines.append("| " + " | ".join(means) + " |")
    return "\n".join(lines) + "\n"


PLOT = """
import json, sys
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
medians, names, queries, out = json.load(sys.stdin)
figure, axes = plt.subplots(figsize=(11, 7))
height = 0.8 / len(names)
for i, name in enumerate(names):
    axes.barh([q + i * height for q in range(len(queries))], [medians[f"{query}|{name}"] for query in queries], height,
              label=name)
axes.set_xscale("log")
axes.set_yticks([q + 0.4 - height / 2 for q in range(len(queries))], queries)
axes.invert_yaxis()
axes.set_xlabel("median, milliseconds")
axes.legend()
figure.tight_layout()
figure.savefig(out, dpi=110)
"""


def plot(medians, names, wanted, out):
    data = [{"|".join(key): value for key, value in medians.items()}, names, [query.name for query in wanted], str(out)]
    subprocess.run([ROOT / ".deps/bench/bin/python", "-c", PLOT], input=json.dumps(data), text=True, check=True)


def main():
    options = {"work": "build/bench-query", "hosts": "200", "days": "3", "threads": "2", "runs": "9", "only": "",
               "systems": "ours,peer,duckdb,clickhouse", "build": "build/release", "seed": "1", "out": "bench/results"}
    options.update(argument.split("=", 1) for argument in sys.argv[1:])
    work = (ROOT / options["work"]).resolve()
    if not (work / "data").exists():
        subprocess.run([sys.executable, ROOT / "bench/query/generate.py", f"out={work / 'data'}",
                        f"hosts={options['hosts']}", f"days={options['days']}"], check=True)
    wanted = [query for query in queries.ALL if not options["only"] or query.name in options["only"].split(",")]
    systems = [System(name, work, options) for name in options["systems"].split(",")]
    try:
        medians = measure(systems, wanted, options)
    finally:
        for system in systems:
            system.close()
    names = [system.name for system in systems]
    out = ROOT / options["out"]
    out.mkdir(parents=True, exist_ok=True)
    text = report(medians, names, wanted, options)
    (out / "query.md").write_text(text)
    plot(medians, names, wanted, out / "query.png")
    print(text)


if __name__ == "__main__":
    main()
