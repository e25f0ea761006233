"""The result of a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ._data import SchemaHolder, StreamHolder, import_batch
from ._errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    import pandas
    import polars
    import pyarrow as pa
    from matplotlib.axes import Axes

    from . import _core

__all__ = ["Result"]

_SHOWN_ROWS = 10
_SHOWN_WIDTH = 32
_HTML_ROWS = 20


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if hasattr(value, "isoformat"):
        return str(
            value.isoformat(" ")
            if hasattr(value, "hour") and hasattr(value, "year")
            else value.isoformat()
        )
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    text = text.replace("\n", "\\n")
    return text if len(text) <= _SHOWN_WIDTH else text[: _SHOWN_WIDTH - 3] + "..."


class Result:
    """Rows of a query, which stream.

    A result is read once, in one of these ways, without ever being in memory as a whole:

    - ``fetch_batches()``, batch by batch;
    - ``__arrow_c_stream__``, by any library that reads Arrow: ``polars.DataFrame(result)``,
      ``pyarrow.RecordBatchReader.from_stream(result)``, ``duckdb.sql("FROM result")``.

    Or it is fetched as a ``pyarrow.Table``, with ``fetch_all()`` (``arrow()`` is the same), and
    then read as often as wanted. ``to_pandas()``, ``to_polars()``, ``plot()``, ``len(result)``, and
    whatever else a ``pyarrow.Table`` has (``num_rows``, ``column(...)``, ``to_pylist()``, ...)
    fetch it.

    Small results are read when the query runs; a large one that is not read to its end keeps its
    query open until it is closed (``close()``, a ``with`` block) or no longer referred to.

    Thread-safe, and safe to give to another thread.

    Example:
        >>> result = lake.sql("SELECT device, max(v) AS v FROM readings GROUP BY 1 ORDER BY 1")
        >>> result.to_pylist()
        [{'device': 'a', 'v': 2.5}, {'device': 'b', 'v': 7.0}]
        >>> result.column_names
        ['device', 'v']
    """

    def __init__(self, stream: _core.Stream):
        self._stream = stream
        self._table: pa.Table | None = None
        self._schema: pa.Schema | None = None

    # --- reading ---

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns, a ``pyarrow.Schema``; known without fetching.

        Example:
            >>> lake.sql("SELECT 1.5 AS x").schema.field("x").type
            Decimal128Type(decimal128(2, 1))
        """
        return self._read_schema()

    def _read_schema(self) -> pa.Schema:
        if self._schema is None:
            import pyarrow as pa

            self._schema = pa.schema(SchemaHolder(self._stream.schema()))
        return self._schema

    @property
    def column_names(self) -> list[str]:
        """Names of the columns; known without fetching.

        Example:
            >>> lake.sql("FROM readings").column_names
            ['time', 'device', 'v']
        """
        return list(self.schema.names)

    def fetch_all(self) -> pa.Table:
        """All rows as a ``pyarrow.Table``, which the result keeps.

        Raises:
            InvalidArgumentError: The result was read as a stream before.
            CancelledError: The query was stopped.

        Example:
            >>> lake.sql("FROM readings").fetch_all().shape
            (4, 3)
        """
        if self._table is None:
            import pyarrow as pa

            self._read_schema()
            self._claim()
            self._table = pa.RecordBatchReader.from_stream(
                StreamHolder(self._stream.read_all())
            ).read_all()
        return self._table

    def arrow(self) -> pa.Table:
        """The same as :meth:`fetch_all`.

        Example:
            >>> lake.sql("SELECT 1 AS one").arrow().to_pylist()
            [{'one': 1}]
        """
        return self.fetch_all()

    def fetch_batches(self) -> Iterator[pa.RecordBatch]:
        """Batches of some ten thousand rows, one after the other as the query makes them.

        Example:
            >>> sum(batch.num_rows for batch in lake.sql("FROM readings").fetch_batches())
            4
        """
        if self._table is not None:
            return iter(self._table.to_batches())
        self._read_schema()
        self._claim()
        return self._batches()

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            while (pair := self._stream.next()) is not None:
                yield import_batch(pair)
        finally:
            self._stream.close()

    def to_pandas(self, **options: Any) -> pandas.DataFrame:
        """All rows as a pandas data frame; `options` are those of ``pyarrow.Table.to_pandas``.

        Example:
            >>> lake.sql("SELECT v FROM readings").to_pandas().v.sum()
            np.float64(12.0)
        """
        return self.fetch_all().to_pandas(**options)

    def to_polars(self) -> polars.DataFrame:
        """All rows as a polars data frame.

        Example:
            >>> lake.sql("SELECT sum(v) AS total FROM readings").to_polars().item()
            12.0
        """
        import polars

        frame = polars.from_arrow(self.fetch_all())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def __arrow_c_schema__(self) -> object:
        """The schema through the Arrow PyCapsule interface."""
        return (
            self._table.schema.__arrow_c_schema__()
            if self._table is not None
            else self._stream.schema()
        )

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows through the Arrow PyCapsule interface, without a copy; read once unless
        fetched."""
        if self._table is not None:
            return self._table.__arrow_c_stream__(requested_schema)
        return self._stream.export()

    def _claim(self) -> None:
        if not self._stream.claim():
            raise InvalidArgumentError(
                "this result has been read before: a result streams once; call fetch_all() first "
                "to read it several times"
            )

    def close(self) -> None:
        """Stops the query if it still runs and lets its rows go; what was fetched stays.

        Example:
            >>> with lake.sql("FROM range(1000000000)") as result:
            ...     first = next(result.fetch_batches())
            >>> first.num_rows > 0
            True
        """
        if self._table is None:
            self._read_schema()
            self._stream.claim()
        self._stream.close()

    def __enter__(self) -> Result:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # --- as a table ---

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and name not in ("__dataframe__", "__array__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        import pyarrow as pa

        if not hasattr(pa.Table, name):
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}, nor has a pyarrow.Table"
            )
        return getattr(self.fetch_all(), name)

    def __dir__(self) -> list[str]:
        import pyarrow as pa

        return sorted(
            {*super().__dir__(), *(name for name in dir(pa.Table) if not name.startswith("_"))}
        )

    def __len__(self) -> int:
        return int(self.fetch_all().num_rows)

    def __getitem__(self, key: Any) -> Any:
        return self.fetch_all()[key]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, Result):
            other = other.fetch_all()
        return bool(self.fetch_all() == other)

    __hash__: ClassVar[None]  # type: ignore[assignment]

    # --- showing ---

    def _head(self, count: int) -> tuple[pa.Table | None, int | None]:
        """The first rows without using them up, and how many there are if that is known."""
        import pyarrow as pa

        if self._table is not None:
            return self._table.slice(0, count), self._table.num_rows
        if self._stream.claimed:
            return None, None
        pairs, ended = self._stream.peek()
        batches = [import_batch(pair) for pair in pairs]
        table = pa.Table.from_batches(batches, schema=self.schema)
        return table.slice(0, count), table.num_rows if ended else None

    def _summary(self, total: int | None, known: bool) -> str:
        columns = len(self.schema)
        rows = (
            f"{total:,} row{'' if total == 1 else 's'}" if total is not None else "rows streaming"
        )
        if not known:
            rows = "read"
        return f"<timelake.Result: {rows}, {columns} column{'' if columns == 1 else 's'}>"

    def __repr__(self) -> str:
        head, total = self._head(_SHOWN_ROWS)
        lines = [self._summary(total, head is not None)]
        if head is None:
            lines.append(", ".join(f"{field.name}: {field.type}" for field in self.schema))
            return "\n".join(lines)
        columns = [[_cell(value) for value in column.to_pylist()] for column in head.columns]
        widths = [
            max([len(field.name), len(str(field.type)), *map(len, column)])
            for field, column in zip(self.schema, columns, strict=True)
        ]
        right = [_is_number(field.type) for field in self.schema]

        def line(cells: list[str]) -> str:
            padded = [
                c.rjust(w) if r else c.ljust(w)
                for c, w, r in zip(cells, widths, right, strict=True)
            ]
            return "  ".join(padded).rstrip()

        lines.append(line([field.name for field in self.schema]))
        lines.append(line([str(field.type) for field in self.schema]))
        lines.extend(line(list(row)) for row in zip(*columns, strict=True))
        if total is None or total > head.num_rows:
            lines.append("...")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        import html

        head, total = self._head(_HTML_ROWS)
        caption = html.escape(self._summary(total, head is not None).strip("<>"))
        names = "".join(
            f"<th>{html.escape(field.name)}<br><small>{html.escape(str(field.type))}</small></th>"
            for field in self.schema
        )
        body = []
        if head is not None:
            for row in zip(*(column.to_pylist() for column in head.columns), strict=True):
                body.append(
                    "<tr>"
                    + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row)
                    + "</tr>"
                )
            if total is None or total > head.num_rows:
                body.append(f'<tr><td colspan="{len(self.schema)}">...</td></tr>')
        return (
            f'<table class="timelake-result"><caption>{caption}</caption>'
            f"<thead><tr>{names}</tr></thead><tbody>{''.join(body)}</tbody></table>"
        )

    def plot(
        self,
        x: str | None = None,
        y: str | list[str] | None = None,
        *,
        by: str | None = None,
        points: int = 2000,
        ax: Axes | None = None,
        **line: Any,
    ) -> Axes:
        """Draws lines with matplotlib.

        Args:
            x: Column of the horizontal axis; the first timestamp or date column if not given.
            y: Column or columns to draw; all number columns if not given.
            by: Column that tells one line from another, such as the series key.
            points: Points for each line. A longer one is thinned by largest triangles (LTTB), which
                keeps its look and its peaks. 0: all points.
            ax: matplotlib axes to draw into; new ones if not given.
            **line: Options of ``Axes.plot``.

        Returns:
            The matplotlib axes.

        Raises:
            ImportError: matplotlib is not installed.
            InvalidArgumentError: No such column, or nothing to draw.

        Example:
            >>> axes = lake.sql("FROM readings ORDER BY time").plot("time", "v", by="device")
            >>> [line.get_label() for line in axes.lines]
            ['a', 'b']
        """
        from . import _plot

        return _plot.plot(self.fetch_all(), x, y, by, points, ax, line)


def _is_number(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))
