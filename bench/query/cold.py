"""The first query of a fresh process, and where its time goes."""

import json
import random
import statistics
import sys

import queries
import queries_cold
from system import System, check

COUNTERS = ("Manifests", "Files", "Row Groups", "Pages", "Rows", "Superseded", "Bytes Read", "Values Decoded")


def scans(node):
    """What EXPLAIN ANALYZE says of each scan."""
    if "SCAN" in node.get("operator_name", ""):
        told = {name: value for name, value in node["extra_info"].items() if name in COUNTERS}
        yield {"Scan": f"{node['operator_timing'] * 1000:.1f} ms of {node['operator_cardinality']} rows", **told}
    for child in node.get("children", []):
        yield from scans(child)


def split(query, parameters, folder, options):
    """Ours: opening, planning (EXPLAIN) and running the same query one after the other in a fresh process, in
    milliseconds; and what the scans did."""
    with System("ours", folder, options) as system:
        sql = query.make(parameters, system.dialect)
        plan = system.ask("EXPLAIN " + sql)
        first = system.ask(sql)
        again = system.ask(sql)
        analyzed = system.ask("EXPLAIN (ANALYZE, FORMAT JSON) " + sql, rows=True)["rows"]
        tree = json.loads(list(analyzed.to_pylist()[0].values())[-1])
    return {"open": plan["open_ms"], "plan": plan["ms"], "run": first["ms"], "again": again["ms"],
            "scans": list(scans(tree))}


def first(name, query, parameters, folder, options):
    with System(name, folder, options) as system:
        sql = query.make(parameters, system.dialect)
        answer = system.ask(sql)
        return answer["open_ms"] + answer["ms"], statistics.median(system.ask(sql)["ms"] for _ in range(3))


def measure(section, folder, options):
    rnd = random.Random(int(options["seed"]))
    if section == "files":
        wanted, series = queries_cold.files(), 100
    else:
        series = int(options["wide-series"])
        wanted = queries_cold.wide(int(options["wide-rows"]) // series)
    wanted = [query for query in wanted if not options["only"] or query.name in options["only"].split(",")]
    draw = lambda: queries.Parameters.draw(rnd, series, 1)
    names = options["systems"].split(",")
    rows, warm, steps = {}, {}, {}
    systems = [System(name, folder, options) for name in names]
    try:
        for query in wanted:
            check(systems, query, draw())
    finally:
        for system in systems:
            system.close()
    for query in wanted:
        times = {}
        for _ in range(int(options["cold-runs"])):
            parameters = draw()
            for name in rnd.sample(names, len(names)):
                times.setdefault(name, []).append(first(name, query, parameters, folder, options))
        rows[query.name], warm[query.name] = (
            {name: statistics.median(pair[i] for pair in times[name]) for name in names} for i in (0, 1))
        splits = [split(query, draw(), folder, options) for _ in range(int(options["cold-runs"]))]
        steps[query.name] = {step: statistics.median(one[step] for one in splits)
                             for step in ("open", "plan", "run", "again")}
        steps[query.name]["scans"] = splits[0]["scans"]
        print(query.name, *(f"{name} {ms:.1f} ms" for name, ms in rows[query.name].items()), steps[query.name],
              file=sys.stderr, flush=True)
    return {"systems": names, "rows": rows, "warm": warm, "steps": steps}
