"""What a file would be as a table, and what can be set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _data
from ._native import core
from ._options import append_options, read_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from ._types import SettingInfo, StrPath

__all__ = ["infer_schema", "settings"]


def infer_schema(
    path: StrPath,
    *,
    format: str = "auto",
    null_values: Sequence[str] | None = None,
    delimiter: str | None = None,
) -> pa.Schema:
    """The columns of a file, as :meth:`Lake.create_table` takes them.

    Types of text files are inferred from the whole file: never one that would lose a value.

    Args:
        path: A Parquet, CSV or TSV file (also ``.gz``).
        format: As for :meth:`Table.import_files`.
        null_values: As for :meth:`Table.import_files`.
        delimiter: As for :meth:`Table.import_files`.

    Example:
        >>> with open("rows.csv", "w") as file:
        ...     _ = file.write("time,n\\n2026-01-04T00:00:00Z,1\\n")
        >>> timelake.infer_schema("rows.csv").field("n").type
        DataType(int64)
    """
    import pyarrow as pa

    options = {
        **append_options(None, None, None, None),
        **read_options(format, null_values, delimiter, 0),
    }
    (name,) = _data.file_paths(path)
    return pa.schema(_data.SchemaHolder(core.infer_schema(name, options)))


def settings() -> list[SettingInfo]:
    """All settings: name, default, the levels at which each can be set, what it accepts, what it is
    for.

    Example:
        >>> [s["default"] for s in timelake.settings() if s["name"] == "max-future"]
        ['1d']
    """
    return core.settings()
