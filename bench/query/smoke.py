"""Runs the query benchmark on tiny data, with everything made anew, and looks at what it writes.

    python bench/query/smoke.py [build=build/release]
"""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TINY = ["--quick", "hosts=4", "trucks=4", "runs=1", "files=6", "wide-rows=2000", "wide-series=100"]
RUNS = [["sections=cpu,iot"],
        ["sections=late,files,wide", "only=count,latest-of-all",
         "systems=ours,peer,duckdb"]]
HEADINGS = ["## Targets", "## TSBS cpu", "## TSBS IoT", "## Late rows",
            "## First query: a table of 6 files", "## First query: 20 columns"]


def main():
    program = [sys.executable, ROOT / "bench/query/run.py", *TINY, *sys.argv[1:]]
    with tempfile.TemporaryDirectory() as work:
        for choice in RUNS:
            subprocess.run([*program, f"work={work}", *choice], check=True)
        out = pathlib.Path(work) / "results"
        text = (out / "query.md").read_text(encoding="utf-8")
        missing = [heading for heading in HEADINGS if heading not in text]
        if missing or not (out / "query.png").stat().st_size:
            raise SystemExit(f"not written: {missing or 'query.png'}")


if __name__ == "__main__":
    main()
