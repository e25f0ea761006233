"""The remote benchmark: an object store where every request takes 20 ms, against the peer.

    python bench/remote/run.py [latency=20] [runs=5] [build=build/release] [out=bench/results]

A proxy in front of versitygw adds the latency to each request, on a thread a connection, and counts. Each system has a
table of its own of 2.6 million rows (100 hosts, 3 days, 10 metrics, one append a day), written through its own client
without latency. Cold steps are the first of a fresh process, opening included; systems take turns in random order. Figures
are medians; answers are compared. `depth` is how many requests followed one another at least.
Writes bench/results/remote.md.
"""

import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import s3_server
from fault_proxy import FaultProxy, counts, depth

PYTHONS = {"ours": ".deps/python", "peer": ".deps/peer"}
APPENDS = 7  # of which the first two are not timed
TARGET = 0.8


class Client:
    def __init__(self, options, system, warehouse, storage):
        env = dict(os.environ, TZ="UTC")
        if system == "ours":
            env["PYTHONPATH"] = str(ROOT / options["build"] / "python")
        self.process = subprocess.Popen(
            [ROOT / PYTHONS[system] / "bin/python", ROOT / "bench/remote/task.py", system, warehouse, json.dumps(storage)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(60)

    def step(self, *call):
        print(json.dumps(call), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{call}: the client has gone")
        return json.loads(line)


def timed(proxy, client, *call):
    proxy.take()
    answer = client.step(*call)
    requests = proxy.take()
    return {**answer, "requests": counts(requests), "depth": depth(requests), "mb": sum(r.sent for r in requests) / 1e6}


def measure(options, proxy, system, place):
    """Answers by step."""
    steps = {}
    with Client(options, system, *place) as client:
        steps["cold open + latest"] = [timed(proxy, client, "latest")]
    with Client(options, system, *place) as client:
        steps["one series, cold"] = [timed(proxy, client, "series", "host_7", 2)]
        steps["one series, again"] = [timed(proxy, client, "series", "host_7", 2) for _ in range(3)]
        steps["another series, open table"] = [timed(proxy, client, "series", "host_93", 2)]
    with Client(options, system, *place) as client:
        steps["full scan, cold"] = [timed(proxy, client, "scan")]
        steps["full scan, again"] = [timed(proxy, client, "scan") for _ in range(2)]
    return steps


def appends(options, proxy, system, place):
    with Client(options, system, *place) as client:
        return [timed(proxy, client, "append") for _ in range(APPENDS)][2:]


def median_of(answers):
    requests = sorted((sum(a["requests"].values()), json.dumps(a["requests"], sort_keys=True)) for a in answers)
    return {"ms": 1000 * statistics.median(a["seconds"] for a in answers), "requests": requests[len(requests) // 2],
            "depth": statistics.median(a["depth"] for a in answers), "mb": statistics.median(a["mb"] for a in answers)}


def table(results):
    lines = ["| step | ours, ms | peer, ms | ours / peer | ours: requests | depth | MB | peer: requests | depth | MB |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for step, systems in results.items():
        ours, peer = median_of(systems["ours"]), median_of(systems["peer"])
        ratio = ours["ms"] / peer["ms"]
        cells = []
        for one in (ours, peer):
            kinds = ", ".join(f"{count} {kind}" for kind, count in json.loads(one["requests"][1]).items())
            cells += [kinds or "none", f"{one['depth']:.0f}", f"{one['mb']:.1f}"]
        mark = "" if ratio <= TARGET else " (target missed)"
        lines.append(f"| {step} | {ours['ms']:.0f} | {peer['ms']:.0f} | {ratio:.2f}{mark} | " + " | ".join(cells) + " |")
    return lines


def main():
    options = {"latency": "20", "runs": "5", "build": "build/release", "out": "bench/results"}
    for argument in sys.argv[1:]:
        key, separator, value = argument.partition("=")
        if not separator or key not in options:
            raise SystemExit(__doc__)
        options[key] = value
    random.seed(1)
    results = {}
    with s3_server.running() as server, FaultProxy(server.port) as proxy:
        storage = proxy.options(server.options)
        places = {system: (f"s3://{server.bucket()}/wh", storage) for system in PYTHONS}
        for system, place in places.items():
            with Client(options, system, *place) as client:
                client.step("build")
        proxy.latency = float(options["latency"]) / 1000
        for _ in range(int(options["runs"])):
            answers = {}
            for system in random.sample(list(PYTHONS), 2):
                for step, list_ in measure(options, proxy, system, places[system]).items():
                    results.setdefault(step, {"ours": [], "peer": []})[system] += list_
                    answers.setdefault(step, {})[system] = list_[-1]["answer"]
            for step, both in answers.items():
                if both["ours"] != both["peer"]:
                    raise SystemExit(f"{step}: the answers differ: {both}")
        results["append of 1,000 rows"] = {system: appends(options, proxy, system, place) for system, place in places.items()}
    lines = ["# Remote benchmark", "",
             f"versitygw behind a proxy that adds {options['latency']} ms to each request; medians of {options['runs']} runs, "
             f"cold steps in fresh processes, in turn; {os.cpu_count()} cores, {platform.machine()}; ours from {options['build']}. `depth`: requests that "
             f"followed one another, at least. Target: every time at most {TARGET} of the peer's.", "", *table(results), ""]
    text = "\n".join(lines)
    out = ROOT / options["out"]
    out.mkdir(parents=True, exist_ok=True)
    (out / "remote.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
