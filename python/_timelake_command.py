"""The console script `timelake`: hands over to the program in the package.

A module of its own, so that the command starts without loading the package and its libraries.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import NoReturn

__all__ = ["main"]


def _folder(name: str) -> str | None:
    """Where a package lies, without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        return None
    return next(iter(spec.submodule_search_locations))


def main() -> NoReturn:
    package, arrow = _folder("timelake"), _folder("pyarrow")
    if package is None or arrow is None:
        missing = "timelake" if package is None else "pyarrow"
        sys.exit(f"timelake: {missing} is not installed (pip install 'pyarrow>=26,<27')")
    program = os.path.join(package, "bin", "timelake")
    env = dict(os.environ)
    # The program looks for Arrow beside its package; a pyarrow elsewhere must be named.
    beside = os.path.join(os.path.dirname(package), "pyarrow")
    if os.path.realpath(arrow) != os.path.realpath(beside):
        known = env.get("LD_LIBRARY_PATH")
        env["LD_LIBRARY_PATH"] = f"{arrow}:{known}" if known else arrow
    os.execve(program, ["timelake", *sys.argv[1:]], env)


if __name__ == "__main__":
    main()
