"""Timelake: a time-series lakehouse in a folder.

Time series go in as Arrow data and come out by SQL; what is stored are plain Iceberg tables of
sorted Parquet files, which DuckDB, PyIceberg and Spark read without this package. There is no
server.

>>> import timelake
>>> lake = timelake.Lake("my_lake")
>>> table = lake.create_table("readings", "time:timestamptz, device:string, v:double",
...                           time_column="time", series_key=["device"])
>>> report = table.append({"time": ["2026-01-03T00:00:00Z", "2026-01-03T00:01:00Z"],
...                        "device": ["a", "b"], "v": [20.5, 21]})
>>> report["rows"]
2
>>> lake.sql("SELECT avg(v) AS v FROM readings").to_pylist()
[{'v': 20.75}]
>>> lake.latest("readings").num_rows
2

Where to go on:

- :class:`Lake`: ``create_table``, ``table``, ``tables``, ``drop_table``, ``import_files``, ``sql``,
  ``latest``, ``session``
- :class:`Table`: ``append``, ``import_files``, ``scan``, ``latest``, ``info``, ``snapshots``,
  ``files``, ``set_properties``, ``rollback``, ``delete``, ``maintain``, ``health``
- :class:`Result`: what a query returns: ``to_pandas``, ``to_polars``, ``fetch_all``,
  ``fetch_batches``, ``plot``
- :class:`AsyncLake`: the same for asyncio
- :func:`attach`: the tables of a lake in your own DuckDB connection
- ``%load_ext timelake`` gives notebooks the cell magic ``%%timelake``
- ``logging.getLogger("timelake")`` tells of retries, repairs and fallbacks

All errors are :class:`TimelakeError`; each is also the builtin that fits (``ValueError``,
``KeyError``, ``FileExistsError``, ``OSError``, ...). Times without a zone are UTC everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _native
from ._appender import Appender
from ._errors import (
    AlreadyExistsError,
    CancelledError,
    CommitUnknownError,
    ConflictError,
    CorruptError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    StorageError,
    TimelakeError,
    UnsupportedError,
)
from ._lake import Lake
from ._result import Result
from ._schemas import infer_schema, settings
from ._session import Session
from ._table import Table
from ._types import (
    AppendReport,
    AppenderStats,
    ArrowArrayExportable,
    ArrowSchemaExportable,
    ArrowStreamExportable,
    CacheStats,
    DeleteReport,
    FileInfo,
    HealthReport,
    RollupInfo,
    RollupRefresh,
    ImportReport,
    MaintainReport,
    MaintainStep,
    Progress,
    PublishedTable,
    PublishReport,
    RelocateReport,
    SettingInfo,
    SnapshotInfo,
    TableInfo,
    VerifyFinding,
    VerifyReport,
)

if TYPE_CHECKING:
    from ._aio import AsyncLake, AsyncResult, AsyncTable
    from ._duckdb import attach

__all__ = [
    "AlreadyExistsError",
    "AppendReport",
    "Appender",
    "AppenderStats",
    "ArrowArrayExportable",
    "ArrowSchemaExportable",
    "ArrowStreamExportable",
    "AsyncLake",
    "AsyncResult",
    "AsyncTable",
    "CacheStats",
    "CancelledError",
    "CommitUnknownError",
    "ConflictError",
    "CorruptError",
    "DeleteReport",
    "FileInfo",
    "HealthReport",
    "RollupInfo",
    "RollupRefresh",
    "ImportReport",
    "InternalError",
    "InvalidArgumentError",
    "Lake",
    "MaintainReport",
    "MaintainStep",
    "NotFoundError",
    "Progress",
    "PublishReport",
    "PublishedTable",
    "RelocateReport",
    "Result",
    "Session",
    "SettingInfo",
    "SnapshotInfo",
    "StorageError",
    "Table",
    "TableInfo",
    "TimelakeError",
    "UnsupportedError",
    "VerifyFinding",
    "VerifyReport",
    "__version__",
    "attach",
    "infer_schema",
    "settings",
]

__version__: str = _native.core.version
#: Highest table format that this version reads and writes.
format_version: str = _native.core.format_version


def _name_what_users_import() -> None:
    """Tracebacks and reprs say timelake.Lake, not timelake._lake.Lake."""
    for name in __all__:
        value = globals().get(name)
        if isinstance(value, type):
            value.__module__ = __name__


_name_what_users_import()

# Parts that few programs need, loaded when they are asked for.
_LATER = {"AsyncLake": "_aio", "AsyncResult": "_aio", "AsyncTable": "_aio", "attach": "_duckdb"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f".{_LATER[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext timelake``: adds the line and cell magic ``timelake``."""
    from . import _magic

    _magic.load(shell)
