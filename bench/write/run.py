"""The write benchmark: ours, the peer, and DuckDB with PyIceberg where they can do the job.

    python bench/write/run.py [data=build/bench-data] [work=build/bench-write] [runs=5] [build=build/release]
                              [only=cpu,iot,iiot,small,series,files,memory] [systems=ours,ours-bss,peer,pyiceberg]
                              [appends=1000] [series=1000000] [files=100000] [seed=1] [out=bench/results]

`data` holds tsbs_cpu.parquet and tsbs_iot_readings.parquet (TSBS' sets of that name); without the first the cpu set is
generated, without the second the iot set is left out.

Every system is a process of its own, warm; the systems take turns on each measure, in random order; figures are
medians. A ratio is ours divided by theirs where less is better, and theirs divided by ours for times of rows: "x" says
how many times faster ours is. CPU is that of the whole process. Writes bench/results/write.md.
"""

import json
import os
import pathlib
import platform
import random
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHONS = {"ours": ".deps/python", "ours-bss": ".deps/python", "peer": ".deps/peer", "pyiceberg": ".deps/venv"}


class System:
    def __init__(self, name, options, suffix=""):
        self.name = name
        env = dict(os.environ, TZ="UTC")
        if name.startswith("ours"):
            env["PYTHONPATH"] = str(ROOT / options["build"] / "python")
        work = (ROOT / options["work"]).resolve() / (name + suffix)
        self.process = subprocess.Popen(
            [ROOT / PYTHONS[name] / "bin/python", ROOT / "bench/write/serve.py", name, work,
             (ROOT / options["data"]).resolve()],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.ready = json.loads(self.process.stdout.readline() or '{"error": "it ended"}')

    def ask(self, do, **task):
        self.process.stdin.write(json.dumps({"do": do} | task) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"error": "it ended"}')
        if "error" in answer:
            print(f"{self.name}: {do} {task}: {answer['error']}", file=sys.stderr, flush=True)
            return None
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


class Bench:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(int(options["seed"]))
        self.systems = []
        for name in options["systems"].split(","):
            system = System(name, options)
            if "error" in system.ready:
                print(f"{name} is left out: {system.ready['error']}", file=sys.stderr)
                continue
            self.systems.append(system)
        self.lines = []

    def turns(self, runs, do, **task):
        """Answers of each system to the same task, in turn; the first round warms up. Each begins with a clean disk:
        what one leaves unwritten would else be written when the other syncs."""
        answers = {}
        for run in range(runs + 1):
            for system in self.random.sample(self.systems, len(self.systems)):
                os.sync()
                answer = system.ask(do, **task)
                if answer is not None and (run > 0 or runs == 0):
                    answers.setdefault(system.name, []).append(answer)
        return answers

    def table(self, title, measures):
        """measures: [(name, {system: value}, format, more_is_better)]"""
        others = [s.name for s in self.systems if s.name != "ours"]
        self.lines += [f"## {title}", "", "| measure | ours | " + " | ".join(f"{o} | ours / {o}" for o in others) + " |",
                       "|---" * (2 + 2 * len(others)) + "|"]
        for name, values, form, _ in measures:
            cells = [name, form.format(values["ours"]) if "ours" in values else ""]
            for other in others:
                known = other in values and "ours" in values
                cells += [form.format(values[other]), f"{values['ours'] / values[other]:.2f}"] if known else ["", ""]
            self.lines.append("| " + " | ".join(cells) + " |")
            print(title, self.lines[-1], file=sys.stderr, flush=True)
        self.lines.append("")

    def set(self, name):
        runs = int(self.options["runs"])
        if name == "iot" and not (ROOT / self.options["data"] / "tsbs_iot_readings.parquet").exists():
            return
        measures = []
        for parts, label in ((1, "one append"), (72, "72 appends")):
            answers = self.turns(runs, "append", set=name, parts=parts)
            rate = lambda key: {s: statistics.median(a["rows"] / a[key] / 1e6 for a in list_)
                                for s, list_ in answers.items()}
            measures += [(f"{label}: M rows/s", rate("seconds"), "{:.2f}", True),
                         (f"{label}: M rows per CPU second", rate("cpu"), "{:.2f}", True)]
            if parts == 1:
                measures.append(("bytes a row", {s: list_[0]["bytes"] / list_[0]["rows"]
                                                 for s, list_ in answers.items()}, "{:.2f}", False))
        self.table(f"Set {name}", measures)

    def small(self):
        # In turns of a hundred, so that a machine that slows down does so for all.
        count, turn = int(self.options["appends"]), 100
        answers = {}
        for first in range(0, count, turn):
            for system, (one,) in self.turns(0, "small", first=first, last=min(first + turn, count), each=1000).items():
                whole = answers.setdefault(system, [{"ms": [], "cpu": 0}])[0]
                whole["ms"] += one["ms"]
                whole["cpu"] += one["cpu"]
        self.latencies(f"{count:,} appends of 1,000 rows", answers)

    def series(self):
        answers = self.turns(0, "many_series", count=int(self.options["series"]), appends=15, each=10)
        self.latencies(f"10 rows into {int(self.options['series']):,} series", answers)

    def files(self):
        """Ours against itself: appends to a table of many files and to a new one, in turn."""
        count = int(self.options["files"])
        system = next(system for system in self.systems if system.name == "ours")
        answer = system.ask("many_files", count=count, appends=200, each=1000)
        if answer is None:
            return
        self.lines += [f"## 200 appends of 1,000 rows to a table of {count:,} files, and to a new table", "",
                       "| measure | many files | new | many files / new |", "|---" * 4 + "|"]
        mean = lambda values, share: statistics.mean(values)
        for label, of, share in (("p50", percentile, 0.5), ("p90", percentile, 0.9), ("p99", percentile, 0.99),
                                 ("mean", mean, None)):
            for kind in ("ms", "cpu"):
                many, new = (of(answer[kind][table], share) for table in ("many", "new"))
                self.lines.append(f"| {label}, {'ms' if kind == 'ms' else 'CPU ms'} | {many:.2f} | {new:.2f} | "
                                  f"{many / new:.2f} |")
                print("files", self.lines[-1], file=sys.stderr, flush=True)
        self.lines.append("")

    def latencies(self, title, answers):
        ms = {s: list_[0]["ms"] for s, list_ in answers.items()}
        count = {s: len(values) for s, values in ms.items()}
        self.table(title, [
            ("p50, ms", {s: percentile(v, 0.5) for s, v in ms.items()}, "{:.2f}", False),
            ("p99, ms", {s: percentile(v, 0.99) for s, v in ms.items()}, "{:.2f}", False),
            ("CPU, ms", {s: list_[0]["cpu"] * 1000 / count[s] for s, list_ in answers.items()}, "{:.2f}", False)])

    def memory(self):
        """Each in a process of its own: what a process has had it keeps."""
        measures = []
        for times in (1, 10):
            mb = {}
            for system in self.systems:
                fresh = System(system.name, self.options, "-memory")
                answer = fresh.ask("memory", set="cpu", times=times)
                fresh.close()
                if answer is not None:
                    mb[system.name] = answer["mb"]
            measures.append((f"cpu x {times}, MB", mb, "{:.0f}", False))
        self.table("Peak memory of one append of a stream, beyond what there was before", measures)

    def run(self):
        wanted = self.options["only"].split(",")
        for name in ("cpu", "iot", "iiot"):
            if name in wanted:
                self.set(name)
        for name in ("small", "series", "files", "memory"):
            if name in wanted:
                getattr(self, name)()
        for system in self.systems:
            system.close()
        head = ["# Write benchmark", "",
                f"Medians of {self.options['runs']} runs in turn, each system in a process of its own, {os.cpu_count()} "
                f"cores, {platform.machine()}; ours makes every commit durable (fdatasync), the peer and PyIceberg do "
                "not. Rates: more is better, a ratio above 1 is good; all else: less is better.", ""]
        return "\n".join(head + self.lines)


def main():
    options = {"data": "build/bench-data", "work": "build/bench-write", "runs": "5", "build": "build/release",
               "only": "cpu,iot,iiot,small,series,files,memory", "systems": "ours,ours-bss,peer,pyiceberg",
               "appends": "1000", "series": "1000000", "files": "100000", "seed": "1", "out": "bench/results"}
    for argument in sys.argv[1:]:
        key, separator, value = argument.partition("=")
        if not separator or key not in options:
            raise SystemExit(__doc__)
        options[key] = value
    try:
        text = Bench(options).run()
    finally:
        shutil.rmtree((ROOT / options["work"]).resolve(), ignore_errors=True)
    out = ROOT / options["out"]
    out.mkdir(parents=True, exist_ok=True)
    (out / "write.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
