#!/usr/bin/env python3
"""Runs the test suites of one tier, each with a time budget.

    python tools/run_tests.py [tier=test|full|long] [build=build/dev] [only=NAME,...] [slack=FACTOR] [list=1]

Everything runs even when something fails. A suite fails when its program fails or when it takes longer than its
budget; at twice the budget its whole process group is ended. Output goes to <build>/test-logs/<suite>.log and is shown
for a suite that failed. The last line is "N passed, N failed" (tests, not suites; a suite that failed without saying
which test counts as one failed test). `slack` multiplies the budgets, e.g. for a sanitizer build.
"""

import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEPS = ROOT / ".deps"
MARKERS = ("markers=full: needs Spark or takes long; runs in the tier `full`\n"
           "long: runs in the tier `long`\n"
           "damaged: leaves a table that is not whole, on purpose (tests/verified.py)")

# Seconds. A unit test that needs more than a few is an integration test in the wrong place.
UNIT_BUDGET = 30
UNIT_BUDGETS = {"write": 60, "maintain": 60, "scan": 60, "sql": 90, "ingest": 60, "api": 60}


@dataclasses.dataclass
class Suite:
    name: str
    command: list
    budget: float
    tier: str


@dataclasses.dataclass
class Outcome:
    suite: Suite
    seconds: float
    passed: int
    failed: int
    note: str = ""  # why it failed beyond failed tests

    @property
    def ok(self):
        return self.failed == 0


def exists(*patterns):
    """Whether any file matches one of the patterns, from the root of the repository."""
    return any(next(ROOT.glob(pattern), None) is not None for pattern in patterns)


def has_marker(folder, marker):
    """Whether a Python test below `folder` carries pytest.mark.<marker>."""
    text = f"mark.{marker}"
    return any(text in path.read_text(encoding="utf-8") for path in (ROOT / folder).rglob("*.py"))


def pytest(*arguments, venv="venv"):
    return [str(DEPS / venv / "bin/python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-markers",
            "--durations=5", "--durations-min=1", "-o", MARKERS, *arguments]


def table(build):
    """All suites whose files exist."""
    suites = []

    def add(condition, name, command, budget, tier="test"):
        if condition:
            suites.append(Suite(name, [str(part) for part in command], budget, tier))

    python = DEPS / "venv/bin/python"
    add(True, "include-check", [python, "tools/check_includes.py"], 10)
    add(True, "include-check-self", [python, "tools/check_includes.py", "--self-test"], 10)
    for folder in sorted((ROOT / "tests/unit").glob("*/")):
        add(exists(f"tests/unit/{folder.name}/*_test.cc", f"tests/unit/{folder.name}/*/*_test.cc"),
            f"unit-{folder.name}", [build / f"test_{folder.name}"], UNIT_BUDGETS.get(folder.name, UNIT_BUDGET))
    add(exists("tests/regress/*.cc"), "regress", [build / "test_regress"], 300)
    add(exists("tests/sim/*.cc"), "sim", [build / "test_sim", "--seeds", "200"], 240)
    add(exists("tests/sql/*.cc"), "sql-cases", [build / "test_sql_cases"], 120)
    for name, budget in (("sql", 120), ("cli", 240), ("interop", 300), ("crash", 180)):
        add(exists(f"tests/{name}/test_*.py", f"tests/{name}/*/test_*.py"),
            f"{name}-py" if name == "sql" else name, pytest(f"tests/{name}", "-m", "not full"), budget)
    # The Python package is not part of sanitizer builds: an interpreter that is not instrumented cannot load it.
    if (build / "python/timelake").exists():
        add(True, "python", pytest("tests/python", "-m", "not full and not long", "--ignore=tests/python/wheel",
                                   venv="python"), 300)
        add(True, "python-wheel", pytest("tests/python/wheel", venv="python"), 180)
        add(True, "python-mypy", [DEPS / "python/bin/python", "-m", "mypy", "--cache-dir", build / "mypy"], 120)
        pyright = [DEPS / "python/bin/python", "-m", "pyright", "--pythonpath", DEPS / "python/bin/python"]
        add(True, "python-pyright", pyright, 120)
        add(True, "python-typed", ["env", f"PYTHONPATH={ROOT}/python", *pyright, "--verifytypes", "timelake",
                                   "--ignoreexternal"], 120)
        add(has_marker("tests/python", "full"), "python-full",
            pytest("tests/python", "-m", "full", "--ignore=tests/python/wheel", venv="python"), 600, "full")
        add(True, "python-long", pytest("tests/python", "-m", "long", venv="python"), 3600, "long")

    add(exists(".deps/bench/bin/python") and (build / "python/timelake").exists(), "bench-query",
        [python, "bench/query/smoke.py", f"build={build}"], 120, "full")
    for name, budget in (("interop", 900), ("crash", 900), ("cli", 600)):
        add(has_marker(f"tests/{name}", "full"), f"{name}-full", pytest(f"tests/{name}", "-m", "full"), budget, "full")

    add(exists("tests/sim/*.cc"), "sim-rules", [build / "test_sim", "--check-rules"], 1200, "long")
    add(exists("tests/sim/*.cc"), "sim-long", [build / "test_sim", "--seeds", "20000"], 3600, "long")
    return suites


def environment(build):
    env = dict(os.environ)
    env.update(
        TIMELAKE_BIN=str(build / "timelake"),
        TIMELAKE_BUILD_DIR=str(build),
        TIMELAKE_PEER_PYTHON=str(DEPS / "peer/bin/python"),
        TIMELAKE_SPARK_PYTHON=str(DEPS / "spark/bin/python"),
        TIMELAKE_SPARK_JARS=str(DEPS / "spark-jars"),
        PYTHONDONTWRITEBYTECODE="1",
        PYTHONUNBUFFERED="1",
        TZ="UTC",
    )
    if build.name == "tsan":  # mimalloc inside Arrow is not instrumented
        env.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    env.setdefault("TSAN_OPTIONS", f"suppressions={ROOT}/cmake/tsan.supp:second_deadlock_stack=1")
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    return env


def count_tests(output):
    """(passed, failed) as the suite's own closing lines tell; (0, 0) when there are none.

    Understands GoogleTest, pytest and a line "N passed, N failed".
    """
    passed = failed = 0
    for match in re.finditer(r"^\[  PASSED  \] (\d+) tests?\.", output, re.MULTILINE):
        passed += int(match.group(1))
    for match in re.finditer(r"^\[  FAILED  \] (\d+) tests?, listed below", output, re.MULTILINE):
        failed += int(match.group(1))
    closing = re.findall(r"^=*\s*((?:\d+ [a-z]+(?:, )?)+)(?: in [\d.]+s.*)?$", output, re.MULTILINE)
    for line in closing[-1:]:
        counts = {word: int(number) for number, word in re.findall(r"(\d+) ([a-z]+)", line)}
        passed += counts.get("passed", 0) + counts.get("xfailed", 0)
        failed += sum(counts.get(word, 0) for word in ("failed", "error", "errors", "xpassed"))
    return passed, failed


def end_group(process, first=signal.SIGKILL):
    """Ends what is left of the suite's own process group."""
    try:
        os.killpg(process.pid, first)
    except ProcessLookupError:
        pass


def run(suite, build, env, slack):
    log = build / "test-logs" / f"{suite.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    budget = suite.budget * slack
    start = time.monotonic()
    note, status = "", None
    with open(log, "wb") as out:
        try:
            process = subprocess.Popen(suite.command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=subprocess.STDOUT, start_new_session=True)
        except OSError as error:
            return Outcome(suite, 0, 0, 1, f"cannot run {suite.command[0]}: {error.strerror}")
        try:
            status = process.wait(timeout=2 * budget)
        except subprocess.TimeoutExpired:
            note = f"ended after twice its budget of {budget:g} s"
            end_group(process, signal.SIGTERM)
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                pass
        finally:
            end_group(process)
            process.wait()
    seconds = time.monotonic() - start
    passed, failed = count_tests(log.read_text(encoding="utf-8", errors="replace"))
    if status is not None and status < 0:
        note = f"ended by signal {-status} ({signal.Signals(-status).name})"
    elif status == 5 and "pytest" in suite.command:
        return Outcome(suite, seconds, 0, 0, "no test selected")
    elif status and not failed:
        note = f"exit status {status}"
    elif status == 0 and passed == failed == 0:
        passed = 1  # a check that counts as one test
    if not note and seconds > budget:
        note = f"over its budget of {budget:g} s"
    if note:
        failed = failed or 1
    return Outcome(suite, seconds, passed, failed, note)


def without_passed(lines):
    """The lines but for what GoogleTest says of each test that passed."""
    kept, begun = [], None
    for line in lines:
        if line.startswith("[ RUN      ]"):
            begun = len(kept)
        kept.append(line)
        if line.startswith("[       OK ]") and begun is not None:
            del kept[begun:]
            begun = None
    return [line for line in kept if not line.startswith("[----------]") and line.strip()]


def report(outcome, build, slack):
    state = "ok" if outcome.ok else "FAILED"
    budget = outcome.suite.budget * slack
    print(f"{state:6}  {outcome.suite.name:20} {outcome.seconds:7.1f} s of {budget:5g} s   "
          f"{outcome.passed} passed, {outcome.failed} failed" + (f"   ({outcome.note})" if outcome.note else ""),
          flush=True)
    if not outcome.ok:
        log = build / "test-logs" / f"{outcome.suite.name}.log"
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        lines = without_passed(text.splitlines())
        if len(lines) > 150:
            print(f"    ... {len(lines) - 150} lines more in {os.path.relpath(log, ROOT)}")
        for line in lines[-150:]:
            print(f"    {line}")
        sys.stdout.flush()


def main(arguments):
    options = {"tier": "test", "build": "build/dev", "only": "", "slack": "1", "list": ""}
    for argument in arguments:
        key, separator, value = argument.partition("=")
        if not separator or key not in options:
            sys.exit(__doc__)
        options[key] = value
    build = (ROOT / options["build"]).resolve()
    slack = float(options["slack"])
    wanted = [name for name in options["only"].split(",") if name]
    suites = [suite for suite in table(build) if suite.tier == options["tier"]]
    if wanted:
        unknown = set(wanted) - {suite.name for suite in suites}
        if unknown:
            sys.exit(f"run_tests: no suite {', '.join(sorted(unknown))} in tier {options['tier']}: "
                     + " ".join(suite.name for suite in suites))
        suites = [suite for suite in suites if suite.name in wanted]
    if options["list"]:
        for suite in suites:
            print(f"{suite.name:20} {suite.budget:5g} s   {' '.join(suite.command)}")
        return 0
    env = environment(build)
    outcomes = []
    for suite in suites:
        outcomes.append(run(suite, build, env, slack))
        report(outcomes[-1], build, slack)
    passed = sum(outcome.passed for outcome in outcomes)
    failed = sum(outcome.failed for outcome in outcomes)
    bad = [outcome.suite.name for outcome in outcomes if not outcome.ok]
    print(f"{len(outcomes)} suites in {sum(o.seconds for o in outcomes):.1f} s"
          + (f"; failed: {' '.join(bad)}" if bad else ""))
    if not outcomes:
        print(f"run_tests: no suite of tier {options['tier']} exists", file=sys.stderr)
    print(f"{passed} passed, {failed} failed", flush=True)
    return 0 if outcomes and passed and not bad else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
