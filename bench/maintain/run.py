"""The maintenance benchmark: full maintenance against the peer, and what maintenance costs over time.

    python bench/maintain/run.py [data=build/bench-data] [work=build/bench-maintain] [runs=3] [build=build/release]
                                 [only=cpu,iot-late,iiot,large,amplification] [days=3] [programs=build/bench] [out=bench/results]

Cases are 72 appends of TSBS cpu, of TSBS IoT readings with 20 % of the rows sent again with other values, and of the IIoT
set; and 20 million rows of one partition in 20 appends, ours under write-memory-bytes = 512 MiB. Both systems get a table
of their own for every run, written without maintenance; each run is a fresh process, in random order; figures are
medians. Memory is peak RSS less RSS when the table is open. `amplification` appends a minute's rows of 1,000 devices, 1 %
of them late, for so many days with auto-maintain and then simulates thirty days by the plans alone.
Writes bench/results/maintain.md and maintain.png.
"""

import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import amplification

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHONS = {"ours": ".deps/python", "peer": ".deps/peer"}
TARGETS = {"seconds": 0.5, "mb": 0.5}


def task(options, do, system, *arguments):
    env = dict(os.environ, TZ="UTC")
    if system == "ours":
        env["PYTHONPATH"] = str(ROOT / options["build"] / "python")
    done = subprocess.run([ROOT / PYTHONS[system] / "bin/python", ROOT / "bench/maintain/task.py", do, system, *arguments],
                          stdout=subprocess.PIPE, env=env, text=True, timeout=3600)
    if done.returncode != 0:
        raise SystemExit(f"{system}: {do} {arguments} failed")
    return json.loads(done.stdout)


def case(options, name):
    """Answers of each system, in turn."""
    answers = {"ours": [], "peer": []}
    for _ in range(int(options["runs"])):
        rows = set()
        for system in random.sample(list(PYTHONS), 2):
            folder = str((ROOT / options["work"]).resolve() / system)
            task(options, "build", system, folder, str((ROOT / options["data"]).resolve()), name)
            answers[system].append(task(options, "maintain", system, folder, name))
            rows.add(answers[system][-1]["rows"])
            print(name, system, answers[system][-1], file=sys.stderr, flush=True)
        if len(rows) != 1:
            raise SystemExit(f"{name}: the systems do not agree on the rows that are left: {rows}")
    return {system: {key: statistics.median(answer[key] for answer in list_) for key in list_[0]}
            for system, list_ in answers.items()}


def table(results):
    lines = ["| case | measure | ours | peer | ours / peer | target |", "|---|---|---|---|---|---|"]
    for name, systems in results.items():
        for key, label in (("seconds", "s"), ("cpu", "CPU s"), ("mb", "peak MB")):
            ours, peer = systems["ours"][key], systems["peer"][key]
            target = f"<= {TARGETS[key]}" if key in TARGETS else ""
            lines.append(f"| {name} | {label} | {ours:.2f} | {peer:.2f} | {ours / peer:.2f} | {target} |")
    return lines


def main():
    options = {"data": "build/bench-data", "work": "build/bench-maintain", "runs": "3", "build": "build/release",
               "only": "cpu,iot-late,iiot,large,amplification", "days": "3", "programs": "build/bench", "out": "bench/results"}
    for argument in sys.argv[1:]:
        key, separator, value = argument.partition("=")
        if not separator or key not in options:
            raise SystemExit(__doc__)
        options[key] = value
    random.seed(1)
    wanted = options["only"].split(",")
    lines = ["# Maintenance benchmark", "",
             f"Medians of {options['runs']} runs, each a process of its own, in turn; {os.cpu_count()} cores, "
             f"{platform.machine()}. Memory is beyond what the process had with the table open. Ours makes its commits "
             "durable, the peer does not.", ""]
    results = {name: case(options, name) for name in ("cpu", "iot-late", "iiot", "large") if name in wanted}
    if results:
        lines += table(results) + [""]
    out = ROOT / options["out"]
    out.mkdir(parents=True, exist_ok=True)
    if "amplification" in wanted:
        lines += amplification.run(ROOT, options, out / "maintain.png")
    (out / "maintain.md").write_text("\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
