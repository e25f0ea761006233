"""The query of a scan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._errors import InvalidArgumentError

if TYPE_CHECKING:
    from ._types import Params, Time


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def scan_query(
    table_name: str,
    time_column: Callable[[], str],
    columns: Sequence[str] | None,
    filter: str | None,
    start: Time,
    end: Time,
    params: Params,
) -> tuple[str, Params]:
    """SQL for :meth:`Table.scan`, and the values of its parameters."""
    if isinstance(columns, str):
        raise TypeError(f"columns: {columns!r} is a str, wanted a list of names")
    selected = "*" if columns is None else ", ".join(map(quoted, columns))
    if not selected:
        raise InvalidArgumentError("scan: columns is empty; None reads all of them")
    space, table = table_name.split(".", 1)
    conditions = [f"({filter})"] if filter else []
    named = params is None or isinstance(params, Mapping)
    given: Any = params or ()
    bounds = [(">=", "timelake_start", start), ("<", "timelake_end", end)]
    values: list[Any] = []
    texts: dict[str, Any] = {}
    for comparison, name, value in bounds:
        if value is None:
            continue
        column = quoted(time_column())
        if named:
            texts[name] = value
            conditions.append(f"{column} {comparison} ${name}")
        else:
            values.append(value)
            conditions.append(f"{column} {comparison} ${len(given) + len(values)}")
    query = f"SELECT {selected} FROM lake.{quoted(space)}.{quoted(table)}"
    if conditions:
        query += " WHERE " + " AND ".join(conditions)
    if named:
        return query, {**dict(given), **texts}
    return query, [*given, *values]
