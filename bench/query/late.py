"""What dedup on read costs: the same queries with it and without, on tables with more and more
rows that were sent again."""

import dataclasses
import random

import queries
from sections import LATE_SHARES
from system import System, check, chosen, medians, tell

QUERIES = ("single-groupby-5-8-1", "double-groupby-1", "double-groupby-all", "high-cpu-all",
           "latest-of-all", "one-series-all-time", "count", "avg-of-all", "newest-10")
FRESH = ("count", "one-series-all-time")  # by the first query of a process


def wanted(share, options, names=QUERIES):
    table = queries.of_table(f"late{share}")
    return chosen([query for query in table if query.name in names], options)


def compare(systems, folder, draw, options):
    """With dedup the last rows, without it all rows, as DuckDB says of what was appended."""
    for suffix in ("", "-off"):
        alike = [system for system in systems if system.name.endswith("-off") == bool(suffix)]
        with System("truth" + suffix, folder, options) as truth:
            for share in LATE_SHARES:
                for query in wanted(share, options):
                    if suffix and share and query.name in ("latest-of-all", "newest-10"):
                        continue  # of two rows at one time either may be the newest
                    ordered = query.ordered and not suffix
                    query = dataclasses.replace(query, ordered=ordered)
                    check([truth, *alike], query, draw())


def warm(systems, draw, rnd, options):
    rows = {}
    for share in LATE_SHARES:
        for query in wanted(share, options):
            times = {system.name: [] for system in systems}
            for _ in range(int(options["runs"])):
                parameters = draw()
                for system in rnd.sample(systems, len(systems)):
                    answer = system.ask(query.make(parameters, system.dialect))
                    times[system.name].append(answer["ms"])
            name = f"{query.name} {share} %"
            rows[name] = medians(times)
            tell(name, rows[name])
    return rows


def fresh(names, folder, draw, rnd, options):
    """The first query of a process: nothing is known of the files, and of the replaced rows."""
    rows = {}
    for share in LATE_SHARES:
        for query in wanted(share, options, FRESH):
            times = {name: [] for name in names}
            for _ in range(int(options["cold-runs"])):
                parameters = draw()
                for name in rnd.sample(names, len(names)):
                    with System(name, folder, options) as system:
                        answer = system.ask(query.make(parameters, system.dialect))
                    times[name].append(answer["open_ms"] + answer["ms"])
            name = f"{query.name} {share} %"
            rows[name] = medians(times)
            tell("first: " + name, rows[name])
    return rows


def measure(section, folder, options):
    rnd = random.Random(int(options["seed"]))
    hosts, days = int(options["hosts"]), int(options["days"])
    draw = lambda: queries.Parameters.draw(rnd, hosts, days)
    names = [name + suffix for name in ("ours", "peer") if name in options["systems"].split(",")
             for suffix in ("", "-off")]
    systems = [System(name, folder, options) for name in names]
    try:
        compare(systems, folder, draw, options)
        rows = warm(systems, draw, rnd, options)
    finally:
        for system in systems:
            system.close()
    return {"systems": names, "rows": rows, "fresh": fresh(names, folder, draw, rnd, options)}
