"""Many writer processes on one table while a maintainer runs: what was acknowledged is there, once.

    concurrency.py write SYSTEM WAREHOUSE OPTIONS NUMBER APPENDS      one writer (a process that `run` starts)
    concurrency.py maintain SYSTEM WAREHOUSE OPTIONS                  the maintainer

A writer says "ready", waits for a line, and says what became of each append, as JSON. The same program drives the Rust
timelake, which imports under the same name.
"""

import collections
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROWS = 3  # of an append: ids APPEND * ROWS + 0, 1, 2 of the writer


def batch(writer, append):
    import pyarrow as pa
    first = (writer * 100_000 + append) * ROWS
    ids = list(range(first, first + ROWS))
    # All in one partition, so that the maintainer has something to merge.
    times = pa.array([1_767_225_600_000_000 + 1000 * i for i in ids], pa.timestamp("us", tz="UTC"))
    return pa.table({"time": times, "writer": pa.array([f"w{writer}"] * ROWS), "id": pa.array(ids, pa.int64())})


def write(timelake, warehouse, options, number, appends):
    table = timelake.Lake(warehouse, storage_options=options).table("t")
    print("ready", flush=True)
    sys.stdin.readline()
    outcomes = []
    for append in range(appends):
        data = batch(number, append)
        start = time.monotonic()
        try:
            table.append(data)
            outcome = "acknowledged"
        except Exception as error:  # whatever it is called in either package
            outcome = "unknown" if type(error).__name__ == "CommitUnknownError" else f"{type(error).__name__}: {error}"
        outcomes.append([append, outcome, time.monotonic() - start])
    print(json.dumps(outcomes), flush=True)


def maintain(timelake, warehouse, options):
    table = timelake.Lake(warehouse, storage_options=options).table("t")
    print("ready", flush=True)
    sys.stdin.readline()
    rounds = failures = 0
    last = ""
    # Until standard input ends.
    os.set_blocking(sys.stdin.fileno(), False)
    while sys.stdin.buffer.raw.read(1) is None:
        rounds += 1
        try:
            table.maintain()
        except Exception as error:
            failures, last = failures + 1, f"{type(error).__name__}: {error}"
        time.sleep(0.2)
    print(json.dumps({"rounds": rounds, "failures": failures, "last": last}), flush=True)


@dataclasses.dataclass
class Report:
    sent: int = 0
    acknowledged: int = 0
    unknown: int = 0
    failed: list = dataclasses.field(default_factory=list)  # what each said
    lost: int = 0  # acknowledged appends that are not there
    doubled: int = 0  # appends that are there more than once
    uncalled: int = 0  # appends that are there although they were said to have failed
    seconds: float = 0.0
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    maintained: dict = dataclasses.field(default_factory=dict)


def run(python, environment, system, warehouse, options, ids_of, writers=24, appends=50, timeout=1200):
    """`ids_of()`: all ids in the table, read when everybody has ended."""
    program = [python, str(pathlib.Path(__file__).resolve())]
    place = [system, warehouse, json.dumps(options)]

    def start(*arguments):
        return subprocess.Popen([*program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                env=environment)

    maintainer = start("maintain", *place)
    processes = [start("write", *place, str(i), str(appends)) for i in range(writers)]
    report = Report(sent=writers * appends)
    try:
        for process in [maintainer, *processes]:
            assert process.stdout.readline() == "ready\n"
        began = time.monotonic()
        for process in [maintainer, *processes]:
            process.stdin.write("go\n")
            process.stdin.flush()
        answers = [json.loads(process.communicate(timeout=timeout)[0]) for process in processes]
        report.seconds = time.monotonic() - began
        report.maintained = json.loads(maintainer.communicate(timeout=300)[0])
    finally:
        for process in [maintainer, *processes]:
            if process.poll() is None:
                process.kill()
            process.wait()
    found = collections.Counter(ids_of())
    times = []
    for writer, outcomes in enumerate(answers):
        for append, outcome, seconds in outcomes:
            times.append(seconds)
            copies = [found.pop(i, 0) for i in batch(writer, append)["id"].to_pylist()]
            report.doubled += max(copies) > 1
            if outcome == "acknowledged":
                report.acknowledged += 1
                report.lost += min(copies) == 0
            elif outcome == "unknown":
                report.unknown += 1
            else:
                report.failed.append(outcome)
                report.uncalled += max(copies) > 0
    assert not found, f"rows that nobody wrote: {list(found)[:5]}"
    times.sort()
    report.p50_ms = 1000 * statistics.median(times)
    report.p99_ms = 1000 * times[int(0.99 * len(times))]
    return report


def main():
    import timelake
    do, _, warehouse, options, *rest = sys.argv[1:]
    if do == "write":
        write(timelake, warehouse, json.loads(options), int(rest[0]), int(rest[1]))
    else:
        maintain(timelake, warehouse, json.loads(options))


if __name__ == "__main__":
    main()
