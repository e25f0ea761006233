#!/usr/bin/env python3
"""Checks the #include lines and the text of our C++ files.

    python tools/check_includes.py              the whole repository; exit status 1 when something is wrong
    python tools/check_includes.py --self-test  the checks themselves

The order of the layers is the one of the design: includes point only downwards. A new folder under src/ must be
entered in LAYERS, or every file in it is an error.
"""

import argparse
import pathlib
import re
import sys
import tempfile

# What each layer may include directly or through another one; itself and "timelake/..." are always allowed.
LAYERS = {
    "base": set(),
    "store": {"base"},
    "iceberg": {"base"},
    "table": {"base", "store", "iceberg"},
    "write": {"base", "store", "iceberg", "table"},
    "index": {"base", "store", "iceberg", "table", "write"},
    "scan": {"base", "store", "iceberg", "table"},
    "maintain": {"base", "store", "iceberg", "table", "write", "index", "scan"},
    "sql": {"base", "store", "iceberg", "table", "write", "index", "maintain", "scan"},
    "ingest": {"base", "store", "iceberg", "table", "write", "index", "maintain", "scan", "sql"},
    "api": {"base", "store", "iceberg", "table", "write", "index", "maintain", "scan", "sql", "ingest"},
}

# Folders outside src/ that see only the public headers and their own files.
PUBLIC_ONLY = ("cli", "python", "examples")

# Libraries that only some places may name, by the first part of the include path.
RESTRICTED = {
    "duckdb": ("src/sql/", "tests/unit/sql/"),
    "nlohmann": ("src/store/", "src/iceberg/", "src/table/", "src/sql/", "src/api/", "cli/", "tests/"),
    "curl": ("src/store/", "tests/"),
    "CLI": ("cli/",),
}

ROOTS = ("include", "src", "cli", "python", "tests", "fuzz", "bench", "examples")
MAX_COLUMNS = 100
WARN_LINES = 500

# A raw string literal's text cannot be wrapped without changing it.
RAW_OPEN = re.compile(r'R"([^()\\ ]{0,16})\(')
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def layer_of(path):
    """The layer of src/<layer>/..., else None."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == "src" else None


def check_include(path, target, quoted):
    """What is wrong with `path` including `target`, else None."""
    top = target.split("/")[0].removesuffix(".hpp").removesuffix(".h")
    for library, places in RESTRICTED.items():
        if top == library and not path.startswith(places):
            return f"only {', '.join(places)} may include {library} headers"
    if not quoted or top == "timelake" or top in RESTRICTED:
        return None
    if path.startswith("include/"):
        return "a public header includes only \"timelake/...\" and Arrow"
    if path.split("/")[0] in PUBLIC_ONLY:
        return f"{path.split('/')[0]}/ includes only \"timelake/...\" and its own files" if top in LAYERS else None
    layer = layer_of(path)
    if layer is None:
        return None
    if layer not in LAYERS:
        return f"unknown layer src/{layer} (enter it in LAYERS)"
    if "/" not in target:
        return "write the path from src/, e.g. \"base/error.h\""
    if top not in LAYERS:
        return f"\"{target}\" is in no layer (use <> for other libraries)"
    if top != layer and top not in LAYERS[layer]:
        return f"{layer} may not include {top}"
    return None


def raw_strings(line, end):
    """Whether `line` touches a raw string literal, and the closing text that the next line waits for (or None).

    `end` is what this line waits for.
    """
    touched, at = end is not None, 0
    while True:
        if end is None:
            match = RAW_OPEN.search(line, at)
            if not match:
                return touched, None
            touched, end, at = True, f"){match.group(1)}\"", match.end()
        found = line.find(end, at)
        if found < 0:
            return touched, end
        at, end = found + len(end), None


def check_text(path, text):
    """Yields (line, message) for the text of one file."""
    if path.endswith(".h") and "#pragma once" not in text:
        yield 1, "header without #pragma once"
    raw_end = None
    for number, line in enumerate(text.split("\n"), 1):
        raw, raw_end = raw_strings(line, raw_end)
        if len(line) > MAX_COLUMNS and not raw:
            yield number, f"{len(line)} columns (at most {MAX_COLUMNS})"
        if not line.isascii():
            bad = next(c for c in line if not c.isascii())
            yield number, f"character U+{ord(bad):04X} is not ASCII (write an escape)"
        if line.endswith(("\r", " ", "\t")) and not raw:
            yield number, "white space at the end of the line"


def find_cycle(graph):
    """One include cycle as a list of paths, or None."""
    done, stack = set(), []

    def visit(node):
        if node in stack:
            return stack[stack.index(node):] + [node]
        if node in done:
            return None
        stack.append(node)
        for child in graph.get(node, ()):
            cycle = visit(child)
            if cycle:
                return cycle
        stack.pop()
        done.add(node)
        return None

    for node in sorted(graph):
        cycle = visit(node)
        if cycle:
            return cycle
    return None


def check_tree(root):
    """Returns (errors, warnings, number of files) for the tree under `root`."""
    root = pathlib.Path(root)
    files = {}
    for top in ROOTS:
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".h", ".cc") and path.is_file() and "third_party" not in path.parts:
                files[path.relative_to(root).as_posix()] = path.read_text(encoding="utf-8", errors="replace")
    errors, warnings, graph = [], [], {}
    for path, text in files.items():
        errors += [f"{path}:{number}: {message}" for number, message in check_text(path, text)]
        count = text.count("\n")
        if count > WARN_LINES and path.startswith(("src/", "cli/", "include/")):
            warnings.append(f"{path}: {count} lines (about {WARN_LINES} at most): split by subject?")
        graph[path] = []
        for number, line in enumerate(text.split("\n"), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            target = match.group(2)
            message = check_include(path, target, match.group(1) == '"')
            if message:
                errors.append(f"{path}:{number}: {message}")
            here = path.rsplit("/", 1)[0]
            for candidate in (f"src/{target}", f"include/{target}", f"{here}/{target}"):
                if candidate in files:
                    graph[path].append(candidate)
                    break
    cycle = find_cycle(graph)
    if cycle:
        errors.append("include cycle: " + " -> ".join(cycle))
    return errors, warnings, len(files)


def self_test():
    """Every rule must fire on a small tree that breaks it, and a clean tree must pass."""
    head = "#pragma once\n"
    clean = {
        "include/timelake/error.h": head + "#include <arrow/status.h>\n",
        "src/base/error.h": head + '#include "timelake/error.h"\n',
        "src/store/store.h": head + '#include "base/error.h"\n',
        "src/iceberg/schema.cc": '#include <nlohmann/json.hpp>\n#include "base/error.h"\n',
        "src/scan/scan.cc": '#include "store/store.h"\n',
        "src/sql/sql.cc": '#include <duckdb/common/types.hpp>\n#include "duckdb/x.hpp"\n#include "scan/scan.h"\n',
        "cli/main.cc": '#include "cli/command.h"\n#include "timelake/error.h"\n#include <CLI/CLI.hpp>\n',
        "tests/unit/sql/sql_test.cc": '#include "sql/sql.h"\n#include "duckdb.hpp"\n',
        "tests/unit/base/raw_test.cc": 'auto a = R"sql(' + "x" * 120 + "\n" + "y" * 120 + ')sql";\n',
    }
    broken = [
        ("store may not include iceberg", "src/store/a.cc", '#include "iceberg/schema.h"\n'),
        ("iceberg may not include store", "src/iceberg/a.cc", '#include "store/store.h"\n'),
        ("base may not include store", "src/base/a.cc", '#include "store/store.h"\n'),
        ("scan may not include write", "src/scan/a.cc", '#include "write/write.h"\n'),
        ("table may not include sql", "src/table/a.cc", '# include "sql/session.h"\n'),
        ("unknown layer src/utils", "src/utils/a.cc", '#include "base/error.h"\n'),
        ("write the path from src/", "src/base/a.cc", '#include "error.h"\n'),
        ("only src/sql/", "src/scan/a.cc", "#include <duckdb.hpp>\n"),
        ("only src/sql/", "src/scan/a.cc", '#include "duckdb/common/types.hpp"\n'),
        ("may include nlohmann", "src/write/a.cc", "#include <nlohmann/json.hpp>\n"),
        ("public header", "include/timelake/a.h", head + '#include "base/error.h"\n'),
        ("cli/ includes only", "cli/a.cc", '#include "base/error.h"\n'),
        ("python/ includes only", "python/a.cc", '#include "table/load.h"\n'),
        ("include cycle", "include/timelake/error.h", head + '#include "timelake/error.h"\n'),
        ("without #pragma once", "src/base/a.h", "int x;\n"),
        ("columns (at most", "src/base/a.cc", "// " + "x" * 98 + "\n"),
        ("is not ASCII", "tests/unit/a.cc", "// \u00e9\n"),
        ("end of the line", "src/base/a.cc", "int x; \n"),
    ]
    failed = 0

    def run(extra):
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**clean, **extra}.items():
                target = pathlib.Path(root, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
            return check_tree(root)

    errors, _, _ = run({})
    if errors:
        failed += 1
        print("self-test: the clean tree has errors:", *errors, sep="\n  ")
    for expected, path, text in broken:
        errors, _, _ = run({path: text})
        if len(errors) != 1 or expected not in errors[0]:
            failed += 1
            print(f"self-test: {path} should give one error with {expected!r}, got {errors}")
    _, warnings, _ = run({"src/base/a.cc": "int x;\n" * 600})
    if len(warnings) != 1:
        failed += 1
        print(f"self-test: a long file should give one warning, got {warnings}")
    print(f"{len(broken) + 2 - failed} passed, {failed} failed")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true", help="test the checks")
    parser.add_argument("root", nargs="?", default=pathlib.Path(__file__).resolve().parent.parent)
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    errors, warnings, count = check_tree(arguments.root)
    for warning in warnings:
        print(f"warning: {warning}")
    for error in errors:
        print(error)
    print(f"check_includes: {count} files, {len(errors)} errors, {len(warnings)} warnings")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
