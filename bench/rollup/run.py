"""The rollup benchmark against the peer.

    python bench/rollup/run.py [tags=1000] [days=30] [step=60] [width=360] [runs=5] [work=build/bench-rollup]
                               [build=build/release] [out=bench/results]

Each system is a process of its own with the same rows, one append a day, maintained once; they take turns at every task.
They build a rollup with buckets of `width` seconds, refresh it after more hours of rows, and answer queries from the table
and from the rollup; the answers of all four ways are compared first. Figures are medians. The work folder is emptied
afterwards. Writes bench/results/rollup.md and rollup.png.
"""

import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHONS = {"ours": ".deps/python", "peer": ".deps/peer"}
QUERIES = ("hourly mean of all tags", "daily count, mean, extremes", "mean of each tag", "hourly mean of one tag")
HOURS = (1, 2, 6, 12, 24, 48, 96)
TARGET = 0.5


class System:
    def __init__(self, name, options, folder):
        env = dict(os.environ, TZ="UTC")
        if name == "ours":
            env["PYTHONPATH"] = str(ROOT / options["build"] / "python")
        self.name = name
        self.process = subprocess.Popen(
            [ROOT / PYTHONS[name] / "bin/python", ROOT / "bench/rollup/serve.py", name, folder, options["tags"], options["step"]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.answer()

    def answer(self):
        found = json.loads(self.process.stdout.readline() or '{"error": "it ended"}')
        if "error" in found:
            raise SystemExit(f"{self.name}: {found['error']}")
        return found

    def ask(self, do, **task):
        self.process.stdin.write(json.dumps({"do": do} | task) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)


class Bench:
    def __init__(self, options):
        self.options = options
        self.work = (ROOT / options["work"]).resolve()
        self.systems = [System(name, options, self.work / name) for name in PYTHONS]
        self.bytes = {}
        self.figures = {}  # {measure: {system: [answer]}}

    def turn(self, measure, do, **task):
        """Both do the same, one after the other, the one that is first by turns."""
        self.systems.reverse()
        answers = {}
        for system in self.systems:
            answers[system.name] = system.ask(do, **task)
            if measure:
                self.figures.setdefault(measure, {}).setdefault(system.name, []).append(answers[system.name])
        if measure:
            print(measure, {name: [round(a["seconds"], 4), round(a["cpu"], 4)] for name, a in answers.items()}, file=sys.stderr, flush=True)
        return answers

    def compare(self, query):
        """All four ways say the same, floating sums up to the order of adding."""
        ways = {}
        for routed in (False, True):
            for name, answer in self.turn(None, "rows", name=query, routed=routed).items():
                ways[f"{name} {'routed' if routed else 'raw'}"] = answer["result"]
        first = ways["ours raw"]
        for way, rows in ways.items():
            same = len(rows) == len(first) and all(
                a == b or (isinstance(a, float) and abs(a - b) <= 1e-12 * abs(a))
                for one, other in zip(rows, first) for a, b in zip(one, other))
            if not same:
                raise SystemExit(f"{query}: {way} does not say what ours says without a rollup")
        if "narrow" not in self.systems_by("ours").ask("explain", name=query)["result"]:
            print(f"{query}: ours does not take it from the rollup", file=sys.stderr)

    def systems_by(self, name):
        return next(system for system in self.systems if system.name == name)

    def run(self):
        runs, days, width = (int(self.options[name]) for name in ("runs", "days", "width"))
        self.turn("load", "load", days=days)
        for number in range(runs):
            if number > 0:
                self.turn(None, "drop", name="narrow")
            self.turn("build", "build", name="narrow", width=width)
            if not self.bytes:  # later on what was dropped and merged still lies there, for a while
                self.bytes = {name: a["result"] for name, a in self.turn(None, "size").items()}
        hour = days * 24
        for hours in HOURS:
            for _ in range(runs if hours == 1 else max(2, runs // 2) if hours < 24 else 1):
                self.turn(None, "append", first_hour=hour, hours=hours)
                self.turn(f"refresh after {hours} h", "refresh", name="narrow")
                hour += hours
        self.turn(None, "maintain")
        self.turn(None, "refresh", name="narrow")
        for query in QUERIES:
            self.compare(query)
            for _ in range(runs):
                for routed in (True, False):
                    self.turn(f"{query}, {'routed' if routed else 'raw'}", "query", name=query, routed=routed)
        for number in range(runs):
            if number > 0:
                self.turn(None, "drop", name="daily")
            self.turn("build of a daily rollup from the rollup", "build", name="daily", width=86400)
        for system in self.systems:
            system.close()

    def median(self, measure, system, key="seconds"):
        return statistics.median(answer[key] for answer in self.figures[measure][system])

    def lines(self):
        options = self.options
        rows = int(options["tags"]) * int(options["days"]) * 86400 // int(options["step"])
        lines = ["# Rollup benchmark", "",
                 f"{options['tags']} tags for {options['days']} days, a value every {options['step']} s: {rows:,} rows; a "
                 f"rollup with buckets of {options['width']} s (count, sum, min, max by tag). Each system in a process of its "
                 f"own, in turn; medians of {options['runs']} runs, of {max(2, int(options['runs']) // 2)} for the refresh "
                 f"after 2 to 12 h, of one from a day on; {os.cpu_count()} cores, {platform.machine()}. Ours makes its "
                 "commits durable, the peer does not. Answers are fetched as Arrow tables.", "",
                 "| what | ours, s | peer, s | ours / peer | target | ours, CPU s | peer, CPU s |", "|---" * 7 + "|"]
        for measure in self.figures:
            if measure == "load":
                continue
            ours, peer = (self.median(measure, name) for name in PYTHONS)
            cpu = [f"{self.median(measure, name, 'cpu'):.3f}" for name in PYTHONS]
            lines.append(f"| {measure} | {ours:.4f} | {peer:.4f} | {ours / peer:.2f} | <= {TARGET} | " + " | ".join(cpu) + " |")
        lines += ["", "Bytes of data files: " + ", ".join(
            f"{name} {size['raw'] / 1e6:.1f} MB of the table and {size['narrow'] / 1e6:.1f} MB of the rollup"
            for name, size in sorted(self.bytes.items())) + ".", "",
            "![Refresh after so many hours of new rows](rollup.png)", ""]
        return lines

    def points(self):
        return [[hours] + [self.median(f"refresh after {hours} h", name) for name in PYTHONS] for hours in HOURS]


def draw(points, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for place, name in enumerate(PYTHONS):
        axes.plot([p[0] for p in points], [p[1 + place] for p in points], marker="o", label=name)
    axes.set(title="refresh: cost against what has changed", xlabel="hours of new rows", ylabel="s", xlim=(0, None), ylim=(0, None))
    axes.legend()
    figure.savefig(path, dpi=110)


def main():
    options = {"tags": "1000", "days": "30", "step": "60", "width": "360", "runs": "5", "work": "build/bench-rollup",
               "build": "build/release", "out": "bench/results"}
    for argument in sys.argv[1:]:
        key, separator, value = argument.partition("=")
        if not separator or key not in options:
            raise SystemExit(__doc__)
        options[key] = value
    bench = Bench(options)
    try:
        bench.run()
    finally:
        shutil.rmtree(bench.work, ignore_errors=True)
    out = (ROOT / options["out"]).resolve()
    out.mkdir(parents=True, exist_ok=True)
    text = "\n".join(bench.lines())
    (out / "rollup.md").write_text(text)
    subprocess.run([ROOT / ".deps/bench/bin/python", "-c", "import json, sys; sys.path.insert(0, sys.argv[1]); import run; "
                    "run.draw(json.load(sys.stdin), sys.argv[2])", ROOT / "bench/rollup", out / "rollup.png"],
                   input=json.dumps(bench.points()), text=True, check=True)
    print(text)


if __name__ == "__main__":
    main()
