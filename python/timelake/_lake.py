"""A lake: a folder or bucket of tables, and SQL over them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import _data, _progress
from ._errors import TimelakeError
from ._native import core
from ._options import append_options, credentials_call, read_options, table_options
from ._result import Result
from ._rollups import Rollups
from ._session import Session
from ._table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

    from . import _core
    from ._types import (
        CacheStats,
        Credentials,
        ImportReport,
        MaintainReport,
        PublishReport,
        RelocateReport,
        Params,
        ProgressOption,
        SchemaInput,
        StrPath,
    )

__all__ = ["Lake"]


class Lake(Rollups):
    """A warehouse of tables: a folder or bucket prefix.

    Opening does no I/O; a folder that is not there yet is made by the first :meth:`create_table`.
    Thread-safe. Not usable in a forked child process: open a new one there, or start processes with
    "spawn".

    Args:
        location: A path (``~`` is expanded) or a URI: ``file://``, ``s3://bucket/folder``,
            ``gs://bucket/folder``, ``az://container/folder``,
            ``abfss://container@account.dfs.core.windows.net/folder``, ``memory://name``; to be
            read only: ``https://host/folder``.
        storage_options: Options of the object store, e.g. ``{"aws_region": "eu-west-1"}``; what
            is not given comes from the environment and the provider's files. An unknown one is an
            error.
        settings: Settings for this lake object, e.g. ``{"commit-timeout": "10s"}``;
            :func:`settings` lists them.
        credentials: Called, without arguments, for the credentials of a bucket: when the first
            request is made, and again five minutes before they expire. Returns a mapping of
            the storage options that are credentials, and perhaps ``expires_at``: a
            :class:`datetime.datetime` with a time zone, or seconds since 1970. Called from threads
            of the library, one at a time; it must not use the lake.

    Raises:
        InvalidArgumentError: Unknown scheme, option or setting.

    Example:
        >>> with timelake.Lake("warehouse") as lake:
        ...     lake.tables()
        ['default.readings']
    """

    def __init__(
        self,
        location: StrPath,
        storage_options: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        credentials: Credentials | None = None,
    ):
        self._options = _data.text_map(storage_options, "storage_options")
        self._settings = _data.text_map(settings, "settings")
        self._credentials = credentials
        self._core = core.Lake(
            os.fspath(location), self._options, self._settings, credentials_call(credentials)
        )

    def __repr__(self) -> str:
        return f"<timelake.Lake {self.location!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Opened again where it is unpickled, e.g. in a process that was spawned.
        return (Lake, (self.location, self._options, self._settings, self._credentials))

    @property
    def location(self) -> str:
        """URI of the root.

        Example:
            >>> lake.location
            'file://.../warehouse'
        """
        return self._core.location

    def create_table(
        self,
        name: str,
        schema: SchemaInput,
        time_column: str | None = None,
        series_key: Sequence[str] | None = None,
        chunk: str | None = None,
        retention: str | None = None,
        dedup: bool | None = None,
        ingest_time: bool | None = None,
        properties: Mapping[str, Any] | None = None,
        *,
        if_not_exists: bool = False,
        partition_by: str | Sequence[str] | None = None,
        expected_rows_per_day: int | None = None,
    ) -> Table:
        """Creates an empty table.

        Args:
            name: ``"table"`` (in the namespace ``default``) or ``"namespace.table"``, of letters,
                digits, ``_``, ``-``.
            schema: A pyarrow schema, anything that has one (a table, a data frame), a mapping of
                names to types, or a
                text: ``"time:timestamptz, device:string!, v:double"`` (``!``: never NULL).
            time_column: Timestamp column that rows are ordered and partitioned by. Without it the
                table is plain: no partitions, no latest rows, no dedup.
            series_key: Columns that tell one series from another, e.g. ``["device"]``.
            chunk: Span of one partition, in UTC: ``"hour"``, ``"day"`` (default), ``"month"`` or
                ``"year"``.
            retention: How long rows are kept, e.g. ``"90d"``; for ever by default.
            dedup: Keep only the last written row of each series and time; default: True with a
                series key.
            ingest_time: Add the column ``_ingest_ts``, filled with the time of the append.
            properties: Settings of the table, or properties of your own with a dot in their names.
            if_not_exists: Open a table of that name if there is one, and leave it as it is.
            partition_by: Partitions beside the time: ``"bucket(16, device)"`` or
                ``"identity(site)"``, or several; of columns of the series key where dedup is on.
            expected_rows_per_day: Chooses `chunk`, and buckets for very many rows, by what is to
                come.

        Returns:
            The :class:`Table`.

        Raises:
            AlreadyExistsError: The table exists.
            InvalidArgumentError: The name, the schema, a column or a setting is wrong.
            UnsupportedError: A type that an Iceberg table does not have.

        Example:
            >>> lake.create_table("plant.pumps", "time:timestamptz, pump:string, flow:double",
            ...                   time_column="time", series_key=["pump"], chunk="month")
            <timelake.Table 'plant.pumps' at file://.../warehouse/plant/pumps, version 1>
        """
        options = table_options(
            time_column,
            series_key,
            chunk,
            retention,
            dedup,
            ingest_time,
            properties,
            if_not_exists,
            partition_by,
            expected_rows_per_day,
        )
        return Table(self, self._core.create_table(name, _data.to_schema(schema), options))

    def import_files(
        self,
        name: str,
        paths: StrPath | Iterable[StrPath],
        time_column: str | None = None,
        series_key: Sequence[str] | None = None,
        chunk: str | None = None,
        **options: Any,
    ) -> ImportReport:
        """Creates a table with the columns of the first file, then appends all files.

        Types of text files are inferred from the whole first file. An import that fails before its
        first commit leaves no table.

        Args:
            name: As for :meth:`create_table`.
            paths: As for :meth:`Table.import_files`.
            time_column: As for :meth:`create_table`.
            series_key: As for :meth:`create_table`.
            chunk: As for :meth:`create_table`.
            **options: All others of :meth:`create_table` and :meth:`Table.import_files`;
                `properties` are those of the table.

        Returns:
            An :class:`ImportReport` (a dict).

        Raises:
            AlreadyExistsError: The table exists; with ``if_not_exists=True`` files are appended.
            InvalidArgumentError: A value does not fit; the message names file, line and column.
            NotFoundError: A path matches nothing.

        Example:
            >>> with open("new.csv", "w") as file:
            ...     _ = file.write("time,pump,flow\\n2026-01-04T00:00:00Z,p1,8.5\\n")
            >>> lake.import_files("pumps", "new.csv", "time", ["pump"], chunk="month")["rows"]
            1
            >>> lake.latest("pumps").to_pylist()[0]["flow"]
            8.5
        """
        return self._import(name, paths, time_column, series_key, chunk, **options)

    def _import(
        self,
        name: str,
        paths: StrPath | Iterable[StrPath],
        time_column: str | None = None,
        series_key: Sequence[str] | None = None,
        chunk: str | None = None,
        retention: str | None = None,
        dedup: bool | None = None,
        ingest_time: bool | None = None,
        properties: Mapping[str, Any] | None = None,
        *,
        if_not_exists: bool = False,
        format: str = "auto",
        null_values: Sequence[str] | None = None,
        delimiter: str | None = None,
        batch_id: str | None = None,
        rows_per_commit: int = 10_000_000,
        on_future: str | None = None,
        settings: Mapping[str, Any] | None = None,
        progress: ProgressOption = None,
        partition_by: str | Sequence[str] | None = None,
        expected_rows_per_day: int | None = None,
        token: _core.CancelToken | None = None,
    ) -> ImportReport:
        options = {
            **append_options(batch_id, None, on_future, settings),
            **read_options(format, null_values, delimiter, rows_per_commit),
            **table_options(
                time_column,
                series_key,
                chunk,
                retention,
                dedup,
                ingest_time,
                properties,
                if_not_exists,
                partition_by,
                expected_rows_per_day,
            ),
        }
        with _progress.reporting(progress, None, by_bytes=True) as tick:
            return self._core.import_files(name, _data.file_paths(paths), options, tick, token)

    def table(self, name: str) -> Table:
        """Opens a table.

        Raises:
            NotFoundError: There is none; the message names a similar name if there is one.

        Example:
            >>> lake.table("readings").name
            'default.readings'
        """
        return Table(self, self._core.table(name))

    def tables(self, namespace: str = "") -> list[str]:
        """Names of the tables, ``"namespace.table"``, sorted; of one namespace if given.

        Example:
            >>> lake.tables()
            ['default.readings']
        """
        return self._core.tables(namespace)

    def namespaces(self) -> list[str]:
        """Names of the namespaces that hold tables.

        Example:
            >>> lake.namespaces()
            ['default']
        """
        return self._core.namespaces()

    def cache_stats(self) -> CacheStats | None:
        """What the cache of immutable objects has done since the lake was opened, and holds.

        Returns:
            A :class:`CacheStats` (a dict), or None where nothing is kept: local folders, and stores
            with the option ``timelake_cache="off"``.

        Example:
            >>> lake.cache_stats()  # this lake is a local folder
        """
        return self._core.cache_stats()

    def drop_table(
        self, name: str, *, if_exists: bool = False, purge: bool = False, cascade: bool = False
    ) -> None:
        """Drops a table: it is neither listed nor opened any more, and its name can be created
        again.

        Args:
            name: The table.
            if_exists: A missing table is no error.
            purge: Delete its files at once, too; queries that still read them fail. Else
                maintenance removes them.
            cascade: Drop the rollups that are made from it, too; else they keep it.

        Raises:
            NotFoundError: There is no such table.
            InvalidArgumentError: It has rollups.

        Example:
            >>> lake.drop_table("readings", purge=True)
            >>> lake.tables()
            []
        """
        self._core.drop_table(name, if_exists, purge, cascade)

    def relocate(self, name: str) -> RelocateReport:
        """Makes a table whose folder was moved or copied one of the place where it lies.

        Until then it can be read there, as its metadata names the old place, and writing is
        refused. One commit, which rewrites metadata only; the place that it was copied from is not
        touched.

        Args:
            name: The table. Open it again afterwards.

        Returns:
            A :class:`RelocateReport` (a dict); ``relocated`` is False where there was nothing to do.

        Raises:
            NotFoundError: There is no such table, or an object of it did not come along.

        Example:
            >>> lake.relocate("readings")["relocated"]
            False
        """
        return self._core.relocate(name)

    def publish(self) -> PublishReport:
        """Writes the index by which a plain web server serves the warehouse.

        ``timelake-index.json`` at the root, for readers over ``https://``, which can list nothing.
        Versions of tables that come later are found without it; call it again when tables have been
        created or dropped.

        Returns:
            A :class:`PublishReport` (a dict).

        Example:
            >>> [table["table"] for table in lake.publish()["tables"]]
            ['default.readings']
        """
        return self._core.publish()

    def maintain(
        self, tables: Sequence[str] | None = None, **options: Any
    ) -> dict[str, MaintainReport]:
        """Maintains several tables, one after the other; all of them without names.

        Without names what dropped tables have left is deleted, too, once nobody can read it any
        more (``metadata-min-age`` after the drop).

        Args:
            tables: Their names.
            options: As for :meth:`Table.maintain`.

        Returns:
            A report for each table, by the name that was given (or by its full name), and for each
            dropped one of which something was left.

        Raises:
            TimelakeError: Of the first table that failed, once the others are done.

        Example:
            >>> list(lake.maintain())
            ['default.readings']
        """
        reports: dict[str, MaintainReport] = {}
        failed: TimelakeError | None = None
        for name in self.tables() if tables is None else tables:
            try:
                reports[name] = self.table(name).maintain(**options)
            except TimelakeError as error:
                failed = failed or error
        if failed is not None:
            raise failed
        if tables is None:
            reports |= self._core.maintain_dropped(options)
        return reports

    def sql(
        self,
        query: str,
        params: Params = None,
        namespace: str = "default",
        *,
        dictionaries: bool = False,
    ) -> Result:
        """Runs one statement of DuckDB's SQL over the tables, each at its newest version.

        Several queries run at once when they are made from several threads. Ctrl-C stops the query.
        What a statement leaves behind (``SET``, temporary tables) is gone with it: open a
        :meth:`session` for that.

        Args:
            query: The statement. Tables are ``table`` in `namespace`, or ``namespace.table``.
            params: Values: a dict for ``$name``, a list for ``?`` or ``$1``. Besides plain values
                these may be datetimes, dates, times, timedeltas, Decimals, bytes, UUIDs, and lists
                (``device IN $devices``).
            namespace: Where bare table names are looked up. (A str given as second argument is
                taken as this.)
            dictionaries: Columns of text come as Arrow dictionaries (pandas: categories), each
                batch with its own: smaller and faster where values repeat.

        Returns:
            A :class:`Result`.

        Raises:
            InvalidArgumentError: The query is wrong; the message is DuckDB's.
            CancelledError: It was stopped from elsewhere.

        Example:
            >>> query = "SELECT count(*) AS n FROM readings WHERE device = $device"
            >>> lake.sql(query, {"device": "a"}).to_pylist()
            [{'n': 2}]
        """
        return self._sql(query, params, namespace, dictionaries, None)

    def _sql(
        self,
        query: str,
        params: Any,
        namespace: str,
        dictionaries: bool,
        token: _core.CancelToken | None,
    ) -> Result:
        if isinstance(params, str):
            params, namespace = None, params
        values = _data.to_params(params)
        return Result(self._core.sql(query, values, namespace, dictionaries, token))

    def latest(self, table: str) -> Result:
        """The newest row of every series of a table: :meth:`Table.latest`.

        Raises:
            NotFoundError: There is no such table.

        Example:
            >>> lake.latest("readings").num_rows
            2
        """
        return self.table(table).latest()

    def session(
        self,
        namespace: str = "default",
        *,
        threads: int = 0,
        memory_limit: str | None = None,
        temp_directory: StrPath | None = None,
        dictionaries: bool = False,
    ) -> Session:
        """Opens a session: statements that build on each other, with limits of its own.

        Args:
            namespace: Where bare table names are looked up.
            threads: Threads of a query; 0: as many as the machine has.
            memory_limit: Most memory of a query, e.g. ``"2GB"``.
            temp_directory: Folder for what does not fit into memory; none by default.
            dictionaries: As of :meth:`sql`.

        Example:
            >>> with lake.session() as session:
            ...     _ = session.sql("CREATE TEMP TABLE high AS FROM readings WHERE v > 2")
            ...     session.sql("SELECT max(v) FROM high").column(0).to_pylist()
            [7.0]
        """
        return Session(self, namespace, threads, memory_limit, temp_directory, dictionaries)

    def close(self) -> None:
        """Closes the sessions that wait for the next query.

        Tables and results stay usable, this object does not. A ``with`` block does it by itself.

        Example:
            >>> other = timelake.Lake("warehouse")
            >>> other.close()
        """
        self._core.close()

    def __enter__(self) -> Lake:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
