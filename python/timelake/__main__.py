"""The command `timelake`, as `python -m timelake` and as console script: hands over to the program
in the wheel."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    here = os.path.dirname(os.path.abspath(__file__))
    program = os.path.join(here, "bin", "timelake")
    env = dict(os.environ)
    spec = importlib.util.find_spec("pyarrow")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("timelake: pyarrow is not installed (pip install 'pyarrow>=26,<27')")
    arrow = next(iter(spec.submodule_search_locations))
    # The program looks for Arrow beside its package; a pyarrow elsewhere must be named.
    if os.path.realpath(arrow) != os.path.realpath(os.path.join(os.path.dirname(here), "pyarrow")):
        known = env.get("LD_LIBRARY_PATH")
        env["LD_LIBRARY_PATH"] = f"{arrow}:{known}" if known else arrow
    os.execve(program, ["timelake", *sys.argv[1:]], env)


if __name__ == "__main__":
    main()
