"""Loads the extension module and joins it to Python: libraries, errors, logging, fork."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from typing import TYPE_CHECKING

from . import _errors

if TYPE_CHECKING:
    from . import _core as core

__all__ = ["core"]

_ARROW = 26
# In the order of their dependencies; the names end with Arrow's version.
_LIBRARIES = ("libarrow", "libarrow_compute", "libparquet")


def _pyarrow_folder() -> str:
    spec = importlib.util.find_spec("pyarrow")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(
            f"timelake needs pyarrow {_ARROW} (pip install 'pyarrow>={_ARROW},<{_ARROW + 1}')"
        )
    return next(iter(spec.submodule_search_locations))


def _preload_arrow() -> None:
    """Loads Arrow's libraries from the pyarrow of this interpreter, wherever it lies.

    The module then finds them by name. pyarrow itself is not imported.
    """
    folder = _pyarrow_folder()
    for name in _LIBRARIES:
        path = os.path.join(folder, f"{name}.so.{_ARROW}00")
        if not os.path.exists(path):
            raise ImportError(
                f"timelake needs pyarrow {_ARROW} (>={_ARROW},<{_ARROW + 1}): the pyarrow in "
                f"{folder} is another version, it has no {os.path.basename(path)}"
            )
        ctypes.CDLL(path)


def _load_core() -> None:
    """Imports the extension with its own DuckDB kept apart from any other in the process."""
    flags = sys.getdlopenflags()
    # LAZY: DuckDB and the library have a hundred thousand symbols, of which few are used.
    local = os.RTLD_LAZY | os.RTLD_LOCAL
    # Another DuckDB in the global scope would take the place of ours, function by function.
    if hasattr(ctypes.CDLL(None), "duckdb_open"):
        local |= os.RTLD_DEEPBIND
    sys.setdlopenflags(local)
    try:
        from . import _core  # noqa: F401
    finally:
        sys.setdlopenflags(flags)


def _log(level: int, message: str) -> None:
    """Hands a line of the core to logging.getLogger("timelake")."""
    import logging

    logger = logging.getLogger("timelake")
    if not logger.handlers:
        # Silent unless the program asks for it, also for warnings.
        logger.addHandler(logging.NullHandler())
    logger.log((logging.DEBUG, logging.INFO, logging.WARNING)[level], "%s", message)


_preload_arrow()
_load_core()

from . import _core as core

core.set_error_types(dict(_errors.BY_KIND))
core.set_log_handler(_log)
os.register_at_fork(after_in_child=core.after_fork_in_child)
