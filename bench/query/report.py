"""The tables of query.md, of what run.py measured."""

import math
import statistics

CLOSE_MS = 0.5  # a query this close counts as met
# system: (geometric mean at most, each ratio at most), over the sections cpu and iot
TARGETS = {"peer": (0.4, 0.9), "duckdb": (None, 0.8), "clickhouse": (0.85, None)}
NAMES = {"cpu": "TSBS cpu, {hosts} hosts, {days} days",
         "iot": "TSBS IoT, {trucks} trucks, {days} days",
         "late": "Late rows: dedup on read, {hosts} hosts, {days} days",
         "files": "First query: a table of {files} files",
         "wide": "First query: 20 columns, {wide-rows} rows, {wide-series} series"}


def ratio(row, name):
    return row["ours"] / row[name]


def close(row, name):
    return abs(row["ours"] - row[name]) <= CLOSE_MS


def misses(row, name):
    """Whether the query is above the target for each query."""
    limit = TARGETS[name][1] if name in TARGETS else None
    return limit is not None and ratio(row, name) > limit and not close(row, name)


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else None


def number(value):
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 100 else f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def line(cells):
    return "| " + " | ".join(cells) + " |"


def head(cells):
    return [line(cells), "|---" + "|---:" * (len(cells) - 1) + "|"]


def against(rows, systems, marked=False):
    """Times and ratios; `marked`: those that miss a target are bold."""
    others = [name for name in systems if name != "ours"]
    lines = head(["query", "ours"] + [cell for name in others for cell in (name, "x")])
    for query, row in rows.items():
        cells = [query, number(row["ours"])]
        for name in others:
            value = number(ratio(row, name)) if name in row else "-"
            if name in row and marked and misses(row, name):
                value = f"**{value}**"
            cells += [number(row.get(name)), value]
        lines.append(line(cells))
    cells = ["geometric mean", ""]
    for name in others:
        cells += ["", number(mean([ratio(row, name) for row in rows.values() if name in row]))]
    return lines + [line(cells)]


def warm(section):
    return against(section["rows"], section["systems"], marked=True)


def targets(results):
    rows = {f"{section} {query}": row for section in ("cpu", "iot") if section in results
            for query, row in results[section]["rows"].items()}
    lines = head(["against", "geometric mean", "at most", "highest ratio", "at most"])
    missed = []
    for name, (of_mean, of_each) in TARGETS.items():
        counted = {query: row for query, row in rows.items() if name in row}
        if not counted:
            continue
        got = mean([ratio(row, name) for row in counted.values()])
        far = [ratio(row, name) for row in counted.values() if not close(row, name)]
        lines.append(line([name, number(got), number(of_mean), number(max(far, default=None)),
                           number(of_each)]))
        if of_mean is not None and got > of_mean:
            missed.append(f"- {name}: the geometric mean")
        missed += [f"- {name}: {query} ({number(ratio(row, name))})"
                   for query, row in counted.items() if misses(row, name)]
    return ["## Targets", "", f"Over all queries of cpu and iot; a query within {CLOSE_MS} ms of "
            "the other does not count for the highest ratio.", "", *lines, "",
            "Missed:" if missed else "None is missed.", "", *missed, ""]


def late(section):
    return ["Warm, milliseconds; x: with dedup divided by without. Last: ours divided by the "
            "peer's, both with it.", "", *late_table(section["rows"], section["systems"]), "",
            "The first query of a fresh process, opening included: which rows are replaced is not "
            "yet known.", "", *late_table(section["fresh"], section["systems"])]


def late_table(rows, systems):
    kinds = [name for name in ("ours", "peer") if name in systems]
    titles = [title for name in kinds for title in (f"{name}, on", "off", "x")]
    lines = head(["query, late rows", *titles, "ours / peer"])
    for query, row in rows.items():
        cells = [query]
        for name in kinds:
            off = row[f"{name}-off"]
            cells += [number(row[name]), number(off), number(row[name] / off)]
        lines.append(line([*cells, number(ratio(row, "peer")) if "peer" in kinds else "-"]))
    cells = ["geometric mean"]
    for name in kinds:
        cells += ["", "", number(mean([row[name] / row[f"{name}-off"] for row in rows.values()]))]
    last = mean([ratio(row, "peer") for row in rows.values() if "peer" in row])
    return lines + [line([*cells, number(last)])]


def first(section):
    lines = head(["query", "open", "plan", "query", "again", "EXPLAIN ANALYZE"])
    for query, steps in section["steps"].items():
        told = [f"{name}: {value}" for scan in steps["scans"] for name, value in scan.items()]
        times = [number(steps[step]) for step in ("open", "plan", "run", "again")]
        lines.append(line([query, *times, "; ".join(told)]))
    return ["The first query of a fresh process, opening included (libraries are loaded, files are "
            "in memory):", "", *against(section["rows"], section["systems"]), "",
            "The same query again in that process:", "",
            *against(section["warm"], section["systems"]), "",
            "Ours, one after the other in a fresh process: opening, EXPLAIN, the query, the query "
            "again.", "", *lines]


SECTIONS = {"cpu": warm, "iot": warm, "late": late, "files": first, "wide": first}


def markdown(results):
    lines = ["# Query benchmark", "", "Milliseconds, medians; x: ours divided by theirs (below 1: "
             "ours is faster). Made by `make bench-query` (bench/README.md). Times are those of "
             "one machine; ratios matter.", "", *targets(results)]
    for name, title in NAMES.items():
        if name not in results:
            continue
        section = results[name]
        runs = {"late": f"{section['runs']} runs, {section['cold_runs']} processes",
                "files": f"{section['cold_runs']} processes",
                "wide": f"{section['cold_runs']} processes"}.get(name, f"{section['runs']} runs")
        lines += [f"## {title.format(**section['scale'])}", "",
                  f"{section['threads']} threads, {runs}; {section['machine']}.", "",
                  *SECTIONS[name](section), ""]
    return "\n".join(lines)
