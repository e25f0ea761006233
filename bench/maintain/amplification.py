"""What maintenance costs over time: bytes written for each byte that is kept, and bytes stored for each that is live."""

import json
import os
import subprocess
import sys


def measured(root, options):
    """Appends minute by minute, with auto-maintain and a full run a day: points of the curves."""
    work = (root / options["work"]).resolve() / "amplification"
    env = dict(os.environ, TZ="UTC", PYTHONPATH=str(root / options["build"] / "python"))
    done = subprocess.run([root / ".deps/python/bin/python", root / "bench/maintain/minutes.py", work, options["days"]],
                          stdout=subprocess.PIPE, env=env, text=True, timeout=7200, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def simulated(root, options, append_bytes):
    """Thirty days by the plans alone: no file is written."""
    done = subprocess.run([root / options["programs"] / "simulate_maintenance", "30", str(append_bytes)],
                          stdout=subprocess.PIPE, text=True, timeout=3600, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def draw(real, plans, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(11, 7), layout="constrained")
    for (row, points, label) in ((0, real, "measured"), (1, plans, "simulated")):
        days = [p["day"] for p in points]
        axes[row][0].plot(days, [p["written"] / p["appended"] for p in points], label="write amplification")
        if row == 0:
            axes[row][0].plot(days, [p["stored"] / p["live"] for p in points], label="space amplification")
        axes[row][0].set(title=f"{label}: bytes written and stored", xlabel="day", ylim=(0, None))
        axes[row][0].legend()
        axes[row][1].plot(days, [p["plan_ms"] for p in points], label="planning, ms")
        axes[row][1].plot(days, [p["files"] for p in points], label="live files")
        axes[row][1].set(title=f"{label}: planning and files", xlabel="day", yscale="log")
        axes[row][1].legend()
    figure.savefig(path, dpi=110)


def run(root, options, png):
    real = measured(root, options)
    plans = simulated(root, options, real[-1]["append_bytes"])
    python = root / ".deps/bench/bin/python"
    subprocess.run([python, "-c", "import json, pathlib, sys; sys.path.insert(0, sys.argv[1]); import amplification; "
                    "amplification.draw(*json.load(sys.stdin), pathlib.Path(sys.argv[2]))",
                    str(root / "bench/maintain"), str(png)], input=json.dumps([real, plans]), text=True, check=True)
    lines = [f"## {options['days']} days of appends, a minute of 1,000 devices each, 1 % of the rows late",
             "", "| day | appends | bytes written / appended | stored / live | live files | planning, ms |",
             "|---|---|---|---|---|---|"]
    step = max(1, len(real) // 6)
    for p in real[step - 1::step]:
        lines.append(f"| {p['day']:.1f} | {p['appends']} | {p['written'] / p['appended']:.2f} | "
                     f"{p['stored'] / p['live']:.2f} | {p['files']} | {p['plan_ms']:.1f} |")
    lines += ["", "## Thirty days by the plans alone", "", "| day | appends | bytes written / appended | live files | "
              "planning, ms |", "|---|---|---|---|---|"]
    for p in plans[4::5]:
        lines.append(f"| {p['day']:.0f} | {p['appends']} | {p['written'] / p['appended']:.2f} | {p['files']} | "
                     f"{p['plan_ms']:.2f} |")
    print("\n".join(lines), file=sys.stderr)
    return lines + [""]
