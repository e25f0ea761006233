"""A table and what can be done with it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import _data, _progress
from ._appender import Appender
from ._care import Care
from ._data import SchemaHolder
from ._errors import InvalidArgumentError, TimelakeError
from ._options import append_options, read_options
from ._result import Result
from ._scan import scan_query

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa

    from . import _core
    from ._lake import Lake
    from ._types import (
        AppendReport,
        DataInput,
        DeleteReport,
        FileInfo,
        ImportReport,
        Params,
        ProgressOption,
        SnapshotInfo,
        StrPath,
        TableInfo,
        Time,
    )

__all__ = ["Table"]


class Table(Care):
    """A handle on one table of a lake, from :meth:`Lake.table` or :meth:`Lake.create_table`.

    Thread-safe: appends from several threads are independent commits. Appends and queries look for
    the newest version by themselves. Not usable in a forked child process.
    """

    def __init__(self, lake: Lake, core: _core.Table):
        self._lake = lake
        self._core = core
        self._time_column: str | None = None

    def __repr__(self) -> str:
        return f"<timelake.Table {self.name!r} at {self.location}, version {self.version}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_open, (self._lake, self.name))

    @property
    def name(self) -> str:
        """The full name, ``"namespace.table"``.

        Example:
            >>> table.name
            'default.readings'
        """
        return self._core.name

    @property
    def location(self) -> str:
        """URI of the table's folder, which other engines read as an Iceberg table.

        Example:
            >>> table.location
            'file://.../warehouse/default/readings'
        """
        return self._core.location

    @property
    def version(self) -> int:
        """The version that this handle has last seen; does no I/O.

        Example:
            >>> table.version
            2
        """
        return self._core.version

    @property
    def lake(self) -> Lake:
        """The lake that the table is in.

        Example:
            >>> table.lake is lake
            True
        """
        return self._lake

    @property
    def schema(self) -> pa.Schema:
        """The columns as last seen, as a ``pyarrow.Schema``.

        Example:
            >>> table.schema.names
            ['time', 'device', 'v']
        """
        import pyarrow as pa

        return pa.schema(SchemaHolder(self._core.schema()))

    def append(
        self,
        data: DataInput,
        batch_id: str | None = None,
        maintain: bool | None = None,
        *,
        properties: Mapping[str, Any] | None = None,
        on_future: str | None = None,
        settings: Mapping[str, Any] | None = None,
        progress: ProgressOption = None,
    ) -> AppendReport:
        """Appends all rows of `data` as one commit, all or nothing.

        Columns are matched by exact name and converted to the table's types where no value is lost;
        a missing nullable column is null. Times without a zone are UTC.

        One append may be larger than memory: rows beyond the setting ``write-memory-bytes`` (1 GiB)
        are sorted in parts, which wait in a temporary file until they are merged. It is still one
        commit.

        Args:
            data: Anything with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (pyarrow tables,
                batches and readers, polars and pandas frames, DuckDB relations, nanoarrow; no copy
                where Arrow allows), a dict of lists, a list of dicts, or an iterator of any of
                these. A named index of a pandas frame is a column.
            batch_id: Name of this load. Repeating it changes nothing and reports ``duplicate``, so
                a load whose outcome is unknown can be repeated.
            maintain: None: merge small files now and then, as the setting ``auto-maintain`` says.
                True: run all of :meth:`maintain` afterwards; the report then has ``maintenance``.
                False: neither. Whenever it fails the rows are in the table all the same, and the
                report has ``maintenance_error``.
            properties: Extra keys for the summary of the snapshot.
            on_future: ``"error"`` (default) or ``"skip"``: what happens to rows later than now plus
                the setting ``max-future``.
            settings: Settings for this append only, over the table's.
            progress: True for a bar by tqdm, or a callback that is given a :class:`Progress`.

        Returns:
            An :class:`AppendReport` (a dict).

        Raises:
            InvalidArgumentError: A value does not fit its column, a column is missing or unknown;
                nothing was committed.
            TypeError: `data` is no table data.
            ConflictError: Other writers won until the time was over; nothing was committed.
            CommitUnknownError: The commit may have been stored; repeat it with the same `batch_id`.
            KeyboardInterrupt: Nothing was committed, unless a note on the exception says so.

        Example:
            >>> table.append({"time": ["2026-01-03T00:05:00Z"], "device": ["a"], "v": [1]})["rows"]
            1
            >>> rows = [{"time": "2026-01-03T00:06:00Z", "device": "a"}]
            >>> table.append(rows, batch_id="load-7")["duplicate"]
            False
            >>> table.append(rows, batch_id="load-7")["duplicate"]
            True
        """
        return self._append(
            data, batch_id, maintain, properties, on_future, settings, progress, None
        )

    def _append(
        self,
        data: DataInput,
        batch_id: str | None,
        maintain: bool | None,
        properties: Mapping[str, Any] | None,
        on_future: str | None,
        settings: Mapping[str, Any] | None,
        progress: ProgressOption,
        token: _core.CancelToken | None,
    ) -> AppendReport:
        if maintain is not None:
            settings = {**(settings or {}), "auto-maintain": False}
        options = append_options(batch_id, properties, on_future, settings)
        total = _data.row_count(data) if progress else None
        source = _data.to_source(data, lambda: self.schema)
        with _progress.reporting(progress, total, by_bytes=False) as tick:
            report: dict[str, Any] = self._core.append(source, options, tick, token)
        if maintain:
            try:
                report["maintenance"] = self.maintain()
            except TimelakeError as error:
                report["maintenance_error"] = str(error)
        return report  # type: ignore[return-value]

    def appender(
        self,
        flush_rows: int = 100_000,
        flush_interval: float = 1.0,
        batch_id: str | None = None,
        *,
        properties: Mapping[str, Any] | None = None,
        on_future: str | None = None,
        settings: Mapping[str, Any] | None = None,
        write_ahead: StrPath | None = None,
    ) -> Appender:
        """Turns many small writes into few commits; a context manager.

        Args:
            flush_rows: A commit begins when so many rows wait,
            flush_interval: or when the oldest of them has waited for so many seconds.
            batch_id: Name of this run, which no other run may have; a number is added for each
                commit. By default a random one.
            properties: Extra keys for the summaries of the snapshots.
            on_future: As for :meth:`append`.
            settings: As for :meth:`append`.
            write_ahead: A local file that keeps rows from :meth:`Appender.append` on, which then
                returns when they are on the disk, until they are committed. What a process leaves in it
                the next appender with the same file commits, once. For one appender at a time.

        Example:
            >>> with table.appender() as appender:
            ...     for minute in range(3):
            ...         time = f"2026-01-03T03:0{minute}:00Z"
            ...         _ = appender.append({"time": [time], "device": ["b"]})
        """
        options = append_options(batch_id, properties, on_future, settings)
        milliseconds = max(1, round(flush_interval * 1000))
        ahead = "" if write_ahead is None else os.fspath(write_ahead)
        return Appender(self, self._core.appender(options, flush_rows, milliseconds, ahead))

    def import_files(
        self,
        paths: StrPath | Iterable[StrPath],
        *,
        format: str = "auto",
        null_values: Sequence[str] | None = None,
        delimiter: str | None = None,
        batch_id: str | None = None,
        rows_per_commit: int = 10_000_000,
        properties: Mapping[str, Any] | None = None,
        on_future: str | None = None,
        settings: Mapping[str, Any] | None = None,
        progress: ProgressOption = None,
    ) -> ImportReport:
        """Appends files, all columns matched by name.

        Args:
            paths: Parquet, CSV or TSV files (each also ``.gz``), folders of them, or globs.
            format: ``"auto"`` (by suffix), ``"parquet"``, ``"csv"`` or ``"tsv"``.
            null_values: Spellings of NULL in text files; by default ``NA``, ``N/A``, ``null``,
                ``NULL`` and ``Null``, except in text columns. An empty field without quotes is
                always NULL.
            delimiter: Character between fields; ``","`` by default, and a tab in TSV.
            batch_id: Name of this load; with several commits a number is added for each.
            rows_per_commit: A commit ends with the file in which it reaches so many rows; 0: one
                commit for each file. A file is never divided.
            properties: Extra keys for the summaries of the snapshots.
            on_future: As for :meth:`append`.
            settings: As for :meth:`append`.
            progress: True for a bar by tqdm, or a callback that is given a :class:`Progress`.

        Returns:
            An :class:`ImportReport` (a dict).

        Raises:
            InvalidArgumentError: A value does not fit; the message names file, line, column and
                text, and nothing of that file was committed.
            NotFoundError: A path matches nothing.

        Example:
            >>> with open("more.csv", "w") as file:
            ...     _ = file.write("time,device,v\\n2026-01-04T00:00:00Z,b,8.5\\n")
            >>> table.import_files("more.csv")["rows"]
            1
        """
        options = {
            **append_options(batch_id, properties, on_future, settings),
            **read_options(format, null_values, delimiter, rows_per_commit),
        }
        return self._import(paths, options, progress, None)

    def _import(
        self,
        paths: StrPath | Iterable[StrPath],
        options: dict[str, Any],
        progress: ProgressOption,
        token: _core.CancelToken | None,
    ) -> ImportReport:
        with _progress.reporting(progress, None, by_bytes=True) as tick:
            return self._core.import_files(_data.file_paths(paths), options, tick, token)

    def latest(self) -> Result:
        """The newest row of every series, ordered by the series key.

        From the last-value index where it covers the table, else by a scan.

        Raises:
            InvalidArgumentError: The table has no time column.

        Example:
            >>> table.latest().column("v").to_pylist()
            [2.5, 7.0]
        """
        return Result(self._core.latest())

    def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: str | None = None,
        start: Time = None,
        end: Time = None,
        *,
        params: Params = None,
    ) -> Result:
        """Rows of the table's newest version, as a stream in no particular order.

        Args:
            columns: Columns to read; all if not given. Others are not read from storage.
            filter: A condition in SQL, e.g. ``"v > 5 AND device IN $devices"``.
            start: First time wanted, of the time column; a datetime (UTC if it has no zone), a
                date, or a text.
            end: First time no longer wanted.
            params: Values for the parameters of `filter`.

        Raises:
            InvalidArgumentError: Unknown column, wrong condition, or times for a table without a
                time column.

        Example:
            >>> rows = table.scan(["device", "v"], "v > $v", start="2026-01-03", params={"v": 5})
            >>> rows.to_pylist()
            [{'device': 'b', 'v': 7.0}]
        """
        query, values = self._scan_query(columns, filter, start, end, params)
        return self._lake.sql(query, values)

    def _scan_query(
        self,
        columns: Sequence[str] | None,
        filter: str | None,
        start: Time,
        end: Time,
        params: Params,
    ) -> tuple[str, Params]:
        return scan_query(self.name, self._time, columns, filter, start, end, params)

    def _time(self) -> str:
        if self._time_column is None:
            self._time_column = self._core.info()["time_column"]
        if self._time_column is None:
            raise InvalidArgumentError(
                f"table {self.name} has no time column: start and end mean nothing"
            )
        return self._time_column

    def info(self) -> TableInfo:
        """What the table is and how large it is, at its newest version.

        Example:
            >>> info = table.info()
            >>> info["time_column"], info["series_key"], info["rows"]
            ('time', ['device'], 4)
        """
        return self._core.info()

    def snapshots(self) -> list[SnapshotInfo]:
        """The snapshots that the table still has, oldest first.

        Example:
            >>> [s["operation"] for s in table.snapshots()]
            ['append']
        """
        return self._core.snapshots()

    def files(self) -> list[FileInfo]:
        """The data and delete files of the current snapshot, by path.

        Example:
            >>> [file["rows"] for file in table.files()]
            [2, 2]
        """
        return self._core.files()

    def set_properties(self, properties: Mapping[str, Any]) -> None:
        """Changes settings in one commit, all or none; None puts one back to its default.

        Names stand with or without ``timelake.``, with dashes or underscores. A name with a dot may
        be a property of your own.

        Raises:
            InvalidArgumentError: Unknown setting, a value out of range, or fixed when the table is
                created.

        Example:
            >>> table.set_properties({"max_future": "2h", "my.owner": "ops"})
            >>> table.info()["properties"]["timelake.max-future"]
            '2h'
            >>> table.set_properties({"max_future": None})
        """
        changes: dict[str, str | None] = dict(
            _data.text_map({k: v for k, v in properties.items() if v is not None}, "properties")
        )
        changes.update({name: None for name, value in properties.items() if value is None})
        self._core.set_properties(changes)

    def alter(
        self,
        *,
        drop: str | Sequence[str] = (),
        rename: Mapping[str, str] | None = None,
        widen: Mapping[str, str] | None = None,
        add: Mapping[str, str] | None = None,
        after: str | None = None,
    ) -> None:
        """Changes the columns, all in one commit; no data is rewritten.

        Rows written before have NULL in a new column, and their values under a new name or type. A
        new column of a dropped one's name is another column. Done in the order of the arguments.

        Args:
            drop: Columns to leave out.
            rename: New names by the names so far.
            widen: Larger types by name: int to long, float to double, or more digits of a decimal.
            add: Types of new, nullable columns by name, written as for :meth:`Lake.create_table`.
            after: The column that new ones come behind; by default the last.

        Raises:
            InvalidArgumentError: There is no such column or type, a name is taken (also in other
                case), a type does not grow, or the column is protected: as the time column, part of
                the series key, what partitions are made of, or by a setting that names it.

        Example:
            >>> table.alter(add={"pressure": "float", "note": "string"}, after="v")
            >>> table.alter(rename={"pressure": "bar"}, widen={"bar": "double"}, drop="note")
            >>> table.schema.names
            ['time', 'device', 'v', 'bar']
            >>> table.alter(drop=["bar"])
        """
        changes = [("drop", name, "", "") for name in ([drop] if isinstance(drop, str) else drop)]
        changes += [("rename", name, to, "") for name, to in (rename or {}).items()]
        changes += [("widen", name, to, "") for name, to in (widen or {}).items()]
        place = after or ""
        for name, type_ in (add or {}).items():
            changes.append(("add", name, type_, place))
            place = name if place else ""
        if not changes:
            raise InvalidArgumentError("alter: nothing to change: give drop, rename, widen or add")
        if after is not None and not add:
            raise InvalidArgumentError("alter: after is the place of columns that add names")
        self._core.change_schema(changes)

    def delete(self, where: str, *, dry_run: bool = False) -> DeleteReport:
        """Deletes the rows for which a condition is true, in one commit.

        Files without a row left are dropped, others are written anew. Of a table with ``dedup``
        the rows that a query sees count; earlier ones of the same series and time go with them.
        Earlier snapshots keep the rows until they expire.

        Args:
            where: A condition in SQL, as behind ``WHERE``; ``"true"`` for all rows.
            dry_run: Only count the rows.

        Returns:
            A :class:`DeleteReport` (a dict).

        Raises:
            InvalidArgumentError: The condition is none that the table understands.
            ConflictError: Other writers won until the time was over; nothing was deleted.

        Example:
            >>> table.delete("device = 'b' AND v < 0", dry_run=True)["rows"]
            0
        """
        if not isinstance(where, str):
            raise InvalidArgumentError(f"delete: where is a condition in SQL, not {where!r}")
        return self._core.delete(where, bool(dry_run))

    def rollback(self, snapshot_id: int) -> None:
        """Makes an earlier snapshot current again; later ones stay until they expire.

        Raises:
            NotFoundError: The table has no such snapshot.

        Example:
            >>> before = table.snapshots()[-1]["snapshot_id"]
            >>> _ = table.append([{"time": "2026-01-05", "device": "a", "v": -1.0}])
            >>> table.rollback(before)
            >>> table.info()["rows"]
            4
        """
        self._core.rollback(snapshot_id)

    def refresh(self) -> None:
        """Looks for a newer version; appends and queries do so by themselves.

        Example:
            >>> table.refresh()
        """
        self._core.refresh()

    def duckdb_sql(self) -> str:
        """SQL that reads the table with DuckDB's iceberg extension, without Timelake.

        Example:
            >>> print(table.duckdb_sql().splitlines()[1])
            SELECT * FROM iceberg_scan('.../warehouse/default/readings');
        """
        return self._core.duckdb_sql()


def _open(lake: Lake, name: str) -> Table:
    return lake.table(name)
