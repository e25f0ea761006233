"""query.png of query.json: ratios as bars, a panel a section.

    plot.py QUERY.JSON OUT.PNG
"""

import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import matplotlib.ticker

LEFT = {"cpu": "TSBS cpu", "iot": "TSBS IoT", "files": "first query: many small files",
        "wide": "first query: many series"}
COLORS = {"peer": "tab:orange", "duckdb": "tab:blue", "clickhouse": "tab:green",
          "ours on / off": "tab:purple", "peer on / off": "tab:gray"}


def to_others(rows):
    return {query: {name: row["ours"] / ms for name, ms in row.items() if name != "ours"}
            for query, row in rows.items()}


def of_dedup(rows):
    ratios = {}
    for query, row in rows.items():
        ratios[query] = {f"{name} on / off": row[name] / row[f"{name}-off"]
                         for name in ("ours", "peer") if name in row}
        if "peer" in row:
            ratios[query]["peer"] = row["ours"] / row["peer"]
    return ratios


def draw(axes, title, rows):
    labels = [label for label in COLORS if any(label in row for row in rows.values())]
    height = 0.8 / max(len(labels), 1)
    for i, label in enumerate(labels):
        at = [number + i * height for number, row in enumerate(rows.values()) if label in row]
        lengths = [row[label] - 1 for row in rows.values() if label in row]
        axes.barh(at, lengths, height, left=1, color=COLORS[label],
                  label=label if "/" in label else f"ours / {label}")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    axes.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    axes.tick_params(labelsize=7)
    axes.set_yticks([number + 0.4 - height / 2 for number in range(len(rows))], list(rows))
    axes.invert_yaxis()
    axes.set_title(title, fontsize=10, loc="left")
    axes.grid(axis="x", linewidth=0.3)
    axes.margins(y=0.02)
    axes.legend(fontsize=7, ncols=3, loc="lower right", bbox_to_anchor=(1, 1), frameon=False)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        results = json.load(file)
    left = [(title, to_others(results[name]["rows"]))
            for name, title in LEFT.items() if name in results]
    right = []
    if "late" in results:
        right = [("late rows, warm", of_dedup(results["late"]["rows"])),
                 ("late rows, first query", of_dedup(results["late"]["fresh"]))]
    columns = [panels for panels in (left, right) if panels]
    heights = [[len(rows) + 2 for _, rows in panels] for panels in columns]
    size = (7 * len(columns), 0.26 * max(map(sum, heights)) + 1)
    figure = plt.figure(figsize=size, layout="constrained")
    parts = figure.subfigures(1, len(columns), squeeze=False)[0]
    for part, panels, height_ratios in zip(parts, columns, heights):
        axes = part.subplots(len(panels), squeeze=False, height_ratios=height_ratios)
        for one, (title, ratios) in zip(axes[:, 0], panels):
            draw(one, title, ratios)
    figure.savefig(sys.argv[2], dpi=100)


if __name__ == "__main__":
    main()
