"""The first query of a fresh process, and where its time goes."""

import json
import random
import statistics

import queries
import queries_cold
from system import System, check, chosen, medians, tell

COUNTERS = ("Manifests", "Files", "Row Groups", "Pages", "Rows", "Superseded", "Bytes Read",
            "Values Decoded")
SLOW_MS = 2000     # a query this slow is run again only once
ENOUGH_MS = 30000  # after as much time a system is not asked the same in further processes


def scans(node):
    """What EXPLAIN ANALYZE says of each scan."""
    if "SCAN" in node.get("operator_name", ""):
        ms = node["operator_timing"] * 1000
        told = {name: value for name, value in node["extra_info"].items() if name in COUNTERS}
        yield {"Scan": f"{ms:.1f} ms of both threads", **told}
    for child in node.get("children", []):
        yield from scans(child)


def steps_of(query, parameters, folder, options):
    """Ours: opening, planning (EXPLAIN) and running the same query one after the other in a fresh
    process, in milliseconds; and what the scans did."""
    with System("ours", folder, options) as system:
        sql = query.make(parameters, system.dialect)
        plan = system.ask("EXPLAIN " + sql)
        first = system.ask(sql)
        again = system.ask(sql)
        analyzed = system.ask("EXPLAIN (ANALYZE, FORMAT JSON) " + sql, rows=True)["rows"]
        tree = json.loads(list(analyzed.to_pylist()[0].values())[-1])
    return {"open": plan["open_ms"], "plan": plan["ms"], "run": first["ms"], "again": again["ms"],
            "scans": list(scans(tree))}


def first_and_again(name, query, parameters, folder, options):
    with System(name, folder, options) as system:
        sql = query.make(parameters, system.dialect)
        answer = system.ask(sql)
        runs = 3 if answer["ms"] < SLOW_MS else 1
        again = statistics.median(system.ask(sql)["ms"] for _ in range(runs))
        return answer["open_ms"] + answer["ms"], again


def compare(names, wanted, draw, folder, options):
    systems = [System(name, folder, options) for name in names]
    try:
        for query in wanted:
            check(systems, query, draw())
    finally:
        for system in systems:
            system.close()


def measure(section, folder, options):
    rnd = random.Random(int(options["seed"]))
    if section == "files":
        wanted, series = queries_cold.files(), 100
    else:
        series = int(options["wide-series"])
        wanted = queries_cold.wide(int(options["wide-rows"]) // series)
    wanted = chosen(wanted, options)
    draw = lambda: queries.Parameters.draw(rnd, series, 1)
    names = options["systems"].split(",")
    compare(names, wanted, draw, folder, options)
    rows, warm, steps = {}, {}, {}
    for query in wanted:
        first, again = ({name: [] for name in names} for _ in range(2))
        split = []
        for _ in range(int(options["cold-runs"])):
            parameters = draw()
            for name in rnd.sample(names, len(names)):
                if sum(first[name]) > ENOUGH_MS:
                    continue
                pair = first_and_again(name, query, parameters, folder, options)
                first[name].append(pair[0])
                again[name].append(pair[1])
            split.append(steps_of(query, parameters, folder, options))
        rows[query.name], warm[query.name] = medians(first), medians(again)
        steps[query.name] = medians({step: [one[step] for one in split]
                                     for step in ("open", "plan", "run", "again")})
        tell("first: " + query.name, rows[query.name])
        tell("steps: " + query.name, steps[query.name])
        steps[query.name]["scans"] = split[0]["scans"]
    return {"systems": names, "rows": rows, "warm": warm, "steps": steps}
