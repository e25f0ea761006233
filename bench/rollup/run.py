"""The rollup benchmark against the peer.

    python bench/rollup/run.py [work=build/bench-rollup] [tags=100] [days=30] [runs=5] [build=build/release] [out=bench/results]

Both systems get the same rows, one append a day, maintained once; then, in turn and each in a process of its own, they build a
minute rollup, refresh it after one more hour, six, a day and four days, and answer queries from the table and from the
rollup. Figures of queries are medians. Writes bench/results/rollup.md.
"""

import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHONS = {"ours": ".deps/python", "peer": ".deps/peer"}
TARGET = 0.5


def task(options, *arguments):
    env = dict(os.environ, TZ="UTC")
    if arguments[1] == "ours":
        env["PYTHONPATH"] = str(ROOT / options["build"] / "python")
    done = subprocess.run([ROOT / PYTHONS[arguments[1]] / "bin/python", ROOT / "bench/rollup/task.py", *map(str, arguments)],
                          stdout=subprocess.PIPE, env=env, text=True, timeout=7200)
    if done.returncode != 0:
        raise SystemExit(f"{arguments} failed")
    return json.loads(done.stdout)


def main():
    options = {"work": "build/bench-rollup", "tags": "100", "days": "30", "runs": "5", "build": "build/release",
               "out": "bench/results"}
    for argument in sys.argv[1:]:
        key, separator, value = argument.partition("=")
        if not separator or key not in options:
            raise SystemExit(__doc__)
        options[key] = value
    answers, rows = {}, 0
    for system in PYTHONS:
        folder = (ROOT / options["work"]).resolve() / f"{system}-{options['tags']}-{options['days']}"
        if not folder.exists():
            task(options, "load", system, folder, options["tags"], options["days"])
        rows = int(options["tags"]) * int(options["days"]) * 8640
        answers[system] = task(options, "time", system, folder, options["tags"], options["days"], options["runs"])
        shutil.rmtree(folder)
        print(system, answers[system], file=sys.stderr, flush=True)
    lines = ["# Rollup benchmark", "",
             f"{int(options['tags'])} tags once in 10 s for {options['days']} days: {rows:,} rows; seconds; "
             f"{os.cpu_count()} cores, {platform.machine()}.", "",
             "| what | ours | peer | ours / peer | target |", "|---|---|---|---|---|"]
    for name, ours in answers["ours"].items():
        peer = answers["peer"][name]
        target = "" if name.endswith(", raw") else f"<= {TARGET}"
        lines.append(f"| {name} | {ours:.3f} | {peer:.3f} | {ours / peer:.2f} | {target} |")
    out = ROOT / options["out"]
    out.mkdir(parents=True, exist_ok=True)
    (out / "rollup.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


main()
