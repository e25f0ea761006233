"""Result.plot: lines with matplotlib, thinned so that a million points draw fast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._errors import InvalidArgumentError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from matplotlib.axes import Axes

__all__ = ["plot", "thin"]


def thin(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any], points: int) -> np.ndarray[Any, Any]:
    """Indices of at most `points` points that look like all, by largest triangles (LTTB).

    The first and the last stay; of each stretch between, the one that spans the largest triangle
    with the one chosen before and the middle of the next stretch. A stretch without values keeps
    one of them, so that a gap stays a gap.
    """
    import numpy as np

    if points <= 0 or len(y) <= points or points < 3:
        return np.arange(len(y))
    edges = np.linspace(1, len(y) - 1, points - 1).astype(int)
    kept = [0]
    for number, (start, end) in enumerate(zip(edges[:-1], edges[1:], strict=True)):
        known = start + np.flatnonzero(~np.isnan(y[start:end]))
        if len(known) == 0:
            kept.append(int(start))
            continue
        after = edges[number + 2] if number + 2 < len(edges) else len(y)
        following = end + np.flatnonzero(~np.isnan(y[end:after]))
        at, last = kept[-1], following if len(following) else known[-1:]
        y_at = y[at] if not np.isnan(y[at]) else y[known[0]]
        x_next, y_next = x[last].mean(), y[last].mean()
        area = np.abs((x[at] - x_next) * (y[known] - y_at) - (x[at] - x[known]) * (y_next - y_at))
        kept.append(int(known[np.argmax(area)]))
    kept.append(len(y) - 1)
    return np.array(kept)


def _default_x(table: pa.Table) -> str:
    from pyarrow import types

    for field in table.schema:
        if types.is_timestamp(field.type) or types.is_date(field.type):
            return str(field.name)
    raise InvalidArgumentError("plot: no timestamp or date column: name the column of the x axis")


def _numbers(table: pa.Table, others: set[str | None]) -> list[str]:
    from pyarrow import types

    def is_number(kind: pa.DataType) -> bool:
        return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))

    names = [
        field.name for field in table.schema if field.name not in others and is_number(field.type)
    ]
    if not names:
        raise InvalidArgumentError("plot: no number column: name the columns to draw")
    return names


def _check(table: pa.Table, names: list[str]) -> None:
    for name in names:
        if name not in table.column_names:
            raise InvalidArgumentError(
                f"plot: no column {name!r}; there are {', '.join(table.column_names)}"
            )


def _values(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    import numpy as np
    import pyarrow as pa

    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    return np.asarray(column.to_numpy(), dtype=float)


def _positions(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    import numpy as np
    import pyarrow as pa

    if pa.types.is_timestamp(column.type):
        # matplotlib knows no zones in numpy times: the axis is UTC.
        column = column.cast(pa.timestamp(column.type.unit))
    return np.asarray(column.to_numpy())


def _numeric(positions: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    import numpy as np

    if positions.dtype.kind == "M":
        positions = positions.astype("datetime64[us]").astype(np.int64)
    if positions.dtype.kind not in "iufb":  # texts stand side by side
        return np.arange(len(positions), dtype=float)
    # From 0: far from it the triangles of neighbours would be lost in the last digits.
    numbers = positions.astype(float)
    return numbers - numbers[0] if len(numbers) else numbers


def _groups(table: pa.Table, by: str | None) -> list[tuple[str, pa.Table]]:
    """The rows of each line with its name, in the order of the names."""
    if by is None:
        return [("", table)]
    rows: dict[Any, list[int]] = {}
    for number, key in enumerate(table[by].to_pylist()):
        rows.setdefault(key, []).append(number)
    keys = sorted(rows, key=lambda key: (key is None, str(key)))
    return [(str(key), table.take(rows[key])) for key in keys]


def plot(
    table: pa.Table,
    x: str | None,
    y: str | list[str] | None,
    by: str | None,
    points: int,
    ax: Axes | None,
    line: dict[str, Any],
) -> Axes:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plot() needs matplotlib (pip install matplotlib)") from None
    _check(table, [name for name in (x, by) if name is not None])
    across = x if x is not None else _default_x(table)
    up = [y] if isinstance(y, str) else y if y is not None else _numbers(table, {across, by})
    _check(table, up)
    axes: Axes = ax if ax is not None else plt.subplots(figsize=(10, 4))[1]
    for key, rows in _groups(table, by):
        part = rows.sort_by(across)
        positions = _positions(part[across])
        for name in up:
            values = _values(part[name])
            index = thin(_numeric(positions), values, points)
            label = name if not key else key if len(up) == 1 else f"{key} {name}"
            axes.plot(positions[index], values[index], label=label, **line)
    axes.set_xlabel(across)
    if len(up) == 1:
        axes.set_ylabel(up[0])
    if len(axes.lines) > 1:
        axes.legend()
    return axes
