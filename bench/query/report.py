"""The tables of query.md, of what run.py measured."""

import math
import statistics

CLOSE_MS = 0.5  # a query this close counts as met
# system: (geometric mean at most, each ratio at most), over the sections cpu and iot
TARGETS = {"peer": (0.4, 0.9), "duckdb": (None, 0.8), "clickhouse": (0.85, None)}
NAMES = {"cpu": "TSBS cpu, {hosts} hosts, {days} days", "iot": "TSBS IoT, {trucks} trucks, {days} days",
         "late": "Late rows: dedup on read, {hosts} hosts, {days} days",
         "files": "First query: a table of {files} files",
         "wide": "First query: 20 columns, {wide-rows} rows, {wide-series} series"}


def ratio(row, name):
    return row["ours"] / row[name] if "ours" in row and name in row else None


def misses(row, name):
    """Whether the query is above the target for each query."""
    limit = TARGETS[name][1] if name in TARGETS else None
    return (limit is not None and name in row and row["ours"] / row[name] > limit
            and row["ours"] - row[name] > CLOSE_MS)


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else math.nan


def number(value):
    return "-" if value is None else f"{value:.0f}" if value >= 1000 else f"{value:.1f}" if value >= 100 else (
        f"{value:.2f}")


def line(cells):
    return "| " + " | ".join(cells) + " |"


def head(cells):
    return [line(cells), "|---" + "|---:" * (len(cells) - 1) + "|"]


def against(rows, systems, marked=True):
    """Times and ratios to ours; rows that miss a target are bold."""
    others = [name for name in systems if name != "ours"]
    lines = head(["query", "ours"] + [cell for name in others for cell in (name, "x")])
    for query, row in rows.items():
        cells = [query, number(row["ours"])]
        for name in others:
            value = number(ratio(row, name))
            cells += [number(row.get(name)), f"**{value}**" if marked and misses(row, name) else value]
        lines.append(line(cells))
    cells = ["geometric mean", ""]
    for name in others:
        cells += ["", number(mean([ratio(row, name) for row in rows.values() if name in row]))]
    return lines + [line(cells)]


def targets(results):
    rows = {f"{section} {query}": row for section in ("cpu", "iot") if section in results
            for query, row in results[section]["rows"].items()}
    lines = ["## Targets", "", f"Over all queries of cpu and iot; a query within {CLOSE_MS} ms of the other counts as met.",
             "", *head(["against", "geometric mean", "at most", "highest that counts", "at most", "missed by"])]
    for name, (geometric, each) in TARGETS.items():
        counted = {query: row for query, row in rows.items() if name in row}
        if not counted:
            continue
        got = mean([ratio(row, name) for row in counted.values()])
        far = [ratio(row, name) for row in counted.values() if row["ours"] - row[name] > CLOSE_MS]
        missed = [query for query, row in counted.items() if misses(row, name)]
        if geometric is not None and got > geometric:
            missed.insert(0, "the geometric mean")
        lines.append(line([name, number(got), number(geometric), number(max(far, default=None)), number(each),
                           ", ".join(missed) or "none"]))
    return lines + [""]


def late(section):
    lines = ["Warm, milliseconds; x: with dedup divided by without. Last: ours divided by the peer's, both with it.", ""]
    lines += late_table(section["rows"], section["systems"])
    lines += ["", "The first query of a fresh process, opening included: which rows are replaced is not yet known.", ""]
    return lines + late_table(section["fresh"], section["systems"])


def late_table(rows, systems):
    kinds = [name for name in ("ours", "peer") if name in systems]
    lines = head(["query, late rows"] + [cell for name in kinds for cell in (f"{name}, on", "off", "x")] + ["ours / peer"])
    for query, row in rows.items():
        cells = [query]
        for name in kinds:
            cells += [number(row[name]), number(row[f"{name}-off"]), number(row[name] / row[f"{name}-off"])]
        lines.append(line(cells + [number(ratio(row, "peer"))]))
    cells = ["geometric mean"]
    for name in kinds:
        cells += ["", "", number(mean([row[name] / row[f"{name}-off"] for row in rows.values()]))]
    return lines + [line(cells + [number(mean([ratio(row, "peer") for row in rows.values() if "peer" in row]))])]


def first(section):
    lines = ["The first query of a fresh process, opening included (libraries are loaded, files are in memory):", ""]
    lines += against(section["rows"], section["systems"], marked=False)
    lines += ["", "The same query again in that process:", ""]
    lines += against(section["warm"], section["systems"], marked=False)
    lines += ["", "Ours, one after the other in a fresh process: opening, EXPLAIN, the query, the query again.", ""]
    lines += head(["query", "open", "plan", "query", "again", "EXPLAIN ANALYZE"])
    for query, steps in section["steps"].items():
        told = "; ".join(f"{name}: {value}" for scan in steps["scans"] for name, value in scan.items())
        lines.append(line([query, *(number(steps[step]) for step in ("open", "plan", "run", "again")), told]))
    return lines


def markdown(results):
    lines = ["# Query benchmark", "", "Milliseconds, medians; x: ours divided by theirs (below 1: ours is faster). Made by "
             "`make bench-query` (bench/README.md). Times are those of one machine; ratios matter.", ""]
    lines += targets(results)
    for name in NAMES:
        if name not in results:
            continue
        section = results[name]
        runs = f"{section['runs']} runs in turn" if name in ("cpu", "iot") else (
            f"{section['runs']} runs, {section['cold_runs']} processes" if name == "late" else
            f"{section['cold_runs']} processes")
        lines += [f"## {NAMES[name].format(**section['scale'])}", "",
                  f"{section['threads']} threads, {runs}; {section['machine']}.", ""]
        lines += {"late": late, "files": first, "wide": first}[name](section) if name not in ("cpu", "iot") else (
            against(section["rows"], section["systems"]))
        lines.append("")
    return "\n".join(lines)
