"""The same for asyncio: calls run on threads, the event loop goes on."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import os
from typing import TYPE_CHECKING, Any, TypeVar

from ._data import StreamHolder, import_batch, text_map, to_params
from ._lake import Lake
from ._native import core
from ._options import append_options, maintain_options, read_options
from ._result import Result
from ._table import Table

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
    from types import TracebackType

    import pandas
    import polars
    import pyarrow as pa

    from . import _core
    from ._types import (
        AppendReport,
        CacheStats,
        Credentials,
        DataInput,
        DeleteReport,
        FileInfo,
        HealthReport,
        RollupInfo,
        RollupRefresh,
        ImportReport,
        MaintainReport,
        PublishReport,
        RelocateReport,
        Params,
        ProgressOption,
        SchemaInput,
        SnapshotInfo,
        StrPath,
        TableInfo,
        Time,
        VerifyReport,
    )

__all__ = ["AsyncLake", "AsyncResult", "AsyncTable"]

T = TypeVar("T")
_THREADS = 32


class _Runner:
    """Runs calls on the threads of one lake; cancelling a task stops the call that it waits for."""

    def __init__(self) -> None:
        self._pool = concurrent.futures.ThreadPoolExecutor(_THREADS, thread_name_prefix="timelake")
        self._process = os.getpid()

    def _check(self) -> None:
        """A forked child has the queue of the threads but not the threads."""
        if os.getpid() != self._process:
            raise RuntimeError(
                "this AsyncLake was opened before the process forked and cannot be used in the "
                "child: open a new one there, or start processes with the method 'spawn' or "
                "'forkserver'"
            )

    async def run(self, call: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        self._check()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, functools.partial(call, *args, **kwargs))

    async def stoppable(self, call: Callable[[_core.CancelToken], T]) -> T:
        """Waits for the call to have ended also when the task is cancelled, so that its outcome is
        settled."""
        self._check()
        token = core.CancelToken()
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._pool, call, token)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            token.cancel()
            await asyncio.wait([future])
            if not future.cancelled():
                future.exception()  # seen: it is the cancellation, or comes too late
            raise

    def close(self) -> None:
        self._pool.shutdown(wait=False)


class AsyncResult:
    """Rows of a query; :class:`Result` for asyncio.

    Example:
        >>> async def biggest():
        ...     async with timelake.AsyncLake("warehouse") as lake:
        ...         result = await lake.sql("SELECT max(v) AS v FROM readings")
        ...         return (await result.fetch_all()).to_pylist()
        >>> asyncio.run(biggest())
        [{'v': 7.0}]
    """

    def __init__(self, result: Result, runner: _Runner):
        self._result = result
        self._runner = runner

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns; known without fetching."""
        return self._result.schema

    async def fetch_all(self) -> pa.Table:
        """All rows as a ``pyarrow.Table``."""
        result = self._result
        if result._table is None:
            import pyarrow as pa

            result._claim()
            capsule = await self._runner.stoppable(result._stream.read_all)
            result._table = pa.RecordBatchReader.from_stream(StreamHolder(capsule)).read_all()
        return result._table

    async def to_pandas(self, **options: Any) -> pandas.DataFrame:
        """All rows as a pandas data frame."""
        await self.fetch_all()
        return await self._runner.run(self._result.to_pandas, **options)

    async def to_polars(self) -> polars.DataFrame:
        """All rows as a polars data frame."""
        await self.fetch_all()
        return await self._runner.run(self._result.to_polars)

    async def fetch_batches(self) -> AsyncIterator[pa.RecordBatch]:
        """Batches one after the other: ``async for batch in result.fetch_batches()``."""
        result = self._result
        if result._table is not None:
            for batch in result._table.to_batches():
                yield batch
            return
        result._claim()
        try:
            while (pair := await self._runner.stoppable(result._stream.next)) is not None:
                yield import_batch(pair)
        finally:
            await self._runner.run(result._stream.close)

    async def close(self) -> None:
        """Stops the query if it still runs and lets its rows go."""
        await self._runner.run(self._result.close)

    def result(self) -> Result:
        """The same rows for code that is not asynchronous."""
        return self._result

    def __repr__(self) -> str:
        return repr(self._result).replace("timelake.Result", "timelake.AsyncResult", 1)


class AsyncTable:
    """A table; :class:`Table` for asyncio. Every method that does I/O is a coroutine with the same
    parameters."""

    def __init__(self, table: Table, runner: _Runner):
        self._table = table
        self._runner = runner

    def __repr__(self) -> str:
        return repr(self._table).replace("timelake.Table", "timelake.AsyncTable")

    @property
    def name(self) -> str:
        """The full name, ``"namespace.table"``."""
        return self._table.name

    @property
    def location(self) -> str:
        """URI of the table's folder."""
        return self._table.location

    @property
    def version(self) -> int:
        """The version that this handle has last seen; does no I/O."""
        return self._table.version

    @property
    def schema(self) -> pa.Schema:
        """The columns as last seen."""
        return self._table.schema

    async def append(
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
        """As :meth:`Table.append`; an iterator and a progress callback run on another thread.

        Cancelling the task stops the append and waits until it has ended; nothing is committed
        unless the commit was being stored at that moment. With a `batch_id` it can be repeated
        either way.
        """
        table = self._table
        return await self._runner.stoppable(
            lambda token: table._append(
                data, batch_id, maintain, properties, on_future, settings, progress, token
            )
        )

    async def import_files(
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
        """As :meth:`Table.import_files`."""
        options = {
            **append_options(batch_id, properties, on_future, settings),
            **read_options(format, null_values, delimiter, rows_per_commit),
        }
        table = self._table
        return await self._runner.stoppable(
            lambda token: table._import(paths, options, progress, token)
        )

    async def latest(self) -> AsyncResult:
        """As :meth:`Table.latest`."""
        stream = await self._runner.stoppable(self._table._core.latest)
        return AsyncResult(Result(stream), self._runner)

    async def scan(
        self,
        columns: Sequence[str] | None = None,
        filter: str | None = None,
        start: Time = None,
        end: Time = None,
        *,
        params: Params = None,
    ) -> AsyncResult:
        """As :meth:`Table.scan`."""
        table = self._table
        query, values = await self._runner.run(
            table._scan_query, columns, filter, start, end, params
        )
        return await _sql(self._runner, table.lake, query, values, "default")

    async def info(self) -> TableInfo:
        """As :meth:`Table.info`."""
        return await self._runner.run(self._table.info)

    async def snapshots(self) -> list[SnapshotInfo]:
        """As :meth:`Table.snapshots`."""
        return await self._runner.run(self._table.snapshots)

    async def files(self) -> list[FileInfo]:
        """As :meth:`Table.files`."""
        return await self._runner.run(self._table.files)

    async def set_properties(self, properties: Mapping[str, Any]) -> None:
        """As :meth:`Table.set_properties`."""
        await self._runner.run(self._table.set_properties, properties)

    async def alter(
        self,
        *,
        drop: str | Sequence[str] = (),
        rename: Mapping[str, str] | None = None,
        widen: Mapping[str, str] | None = None,
        add: Mapping[str, str] | None = None,
        after: str | None = None,
    ) -> None:
        """As :meth:`Table.alter`."""
        await self._runner.run(
            self._table.alter, drop=drop, rename=rename, widen=widen, add=add, after=after
        )

    async def delete(self, where: str, *, dry_run: bool = False) -> DeleteReport:
        """As :meth:`Table.delete`."""
        return await self._runner.stoppable(
            lambda token: self._table._core.delete(where, bool(dry_run), token)
        )

    async def rollback(self, snapshot_id: int) -> None:
        """As :meth:`Table.rollback`."""
        await self._runner.run(self._table.rollback, snapshot_id)

    async def verify(self, deep: bool = False) -> VerifyReport:
        """As :meth:`Table.verify`."""
        return await self._runner.stoppable(
            lambda token: self._table._core.verify(bool(deep), token)
        )

    async def health(self) -> HealthReport:
        """As :meth:`Table.health`."""
        return await self._runner.stoppable(lambda token: self._table._core.health(token))

    async def refresh(self) -> None:
        """As :meth:`Table.refresh`."""
        await self._runner.run(self._table.refresh)

    async def maintain(
        self,
        compact: bool = True,
        retention: bool = True,
        expire: bool = True,
        rollups: bool = True,
        *,
        exact: bool = False,
        manifests: bool = True,
        orphans: bool = True,
        orphan_min_age: str = "3d",
        force: bool = False,
        full: bool = False,
        dry_run: bool = False,
        max_bytes: int = 0,
        max_seconds: float = 0,
        shard: int = 0,
        shards: int = 1,
        settings: Mapping[str, Any] | None = None,
    ) -> MaintainReport:
        """As :meth:`Table.maintain`."""
        options = maintain_options(
            compact=compact,
            retention=retention,
            exact=exact,
            rollups=rollups,
            expire=expire,
            manifests=manifests,
            orphans=orphans,
            orphan_min_age=orphan_min_age,
            force=force,
            full=full,
            dry_run=dry_run,
            max_bytes=max_bytes,
            max_seconds=max_seconds,
            shard=shard,
            shards=shards,
            settings=settings,
        )
        return await self._runner.stoppable(
            lambda token: self._table._core.maintain(options, token)
        )


async def _sql(
    runner: _Runner,
    lake: Lake,
    query: str,
    params: Any,
    namespace: str,
    dictionaries: bool = False,
) -> AsyncResult:
    if isinstance(params, str):
        params, namespace = None, params
    values = to_params(params)
    stream = await runner.stoppable(
        lambda token: lake._core.sql(query, values, namespace, dictionaries, token)
    )
    return AsyncResult(Result(stream), runner)


class AsyncLake:
    """A lake; :class:`Lake` for asyncio. Every method that does I/O is a coroutine with the same
    parameters.

    Calls run on threads of this object and do not block the event loop. Cancelling a task, also by
    ``asyncio.timeout``, stops the call that it waits for.

    Example:
        >>> async def count():
        ...     async with timelake.AsyncLake("warehouse") as lake:
        ...         table = await lake.table("readings")
        ...         return (await table.info())["rows"]
        >>> asyncio.run(count())
        4
    """

    def __init__(
        self,
        location: StrPath,
        storage_options: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        credentials: Credentials | None = None,
    ):
        self._lake = Lake(location, storage_options, settings, credentials)
        self._runner = _Runner()

    def __repr__(self) -> str:
        return f"<timelake.AsyncLake {self.location!r}>"

    @property
    def location(self) -> str:
        """URI of the root."""
        return self._lake.location

    async def create_table(
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
    ) -> AsyncTable:
        """As :meth:`Lake.create_table`."""
        table = await self._runner.run(
            self._lake.create_table,
            name,
            schema,
            time_column,
            series_key,
            chunk,
            retention,
            dedup,
            ingest_time,
            properties,
            if_not_exists=if_not_exists,
            partition_by=partition_by,
            expected_rows_per_day=expected_rows_per_day,
        )
        return AsyncTable(table, self._runner)

    async def import_files(
        self,
        name: str,
        paths: StrPath | Iterable[StrPath],
        time_column: str | None = None,
        series_key: Sequence[str] | None = None,
        chunk: str | None = None,
        **options: Any,
    ) -> ImportReport:
        """As :meth:`Lake.import_files`."""
        lake = self._lake
        return await self._runner.stoppable(
            lambda token: lake._import(
                name, paths, time_column, series_key, chunk, token=token, **options
            )
        )

    async def table(self, name: str) -> AsyncTable:
        """As :meth:`Lake.table`."""
        return AsyncTable(await self._runner.run(self._lake.table, name), self._runner)

    async def tables(self, namespace: str = "") -> list[str]:
        """As :meth:`Lake.tables`."""
        return await self._runner.run(self._lake.tables, namespace)

    async def namespaces(self) -> list[str]:
        """As :meth:`Lake.namespaces`."""
        return await self._runner.run(self._lake.namespaces)

    async def cache_stats(self) -> CacheStats | None:
        """As :meth:`Lake.cache_stats`."""
        return await self._runner.run(self._lake.cache_stats)

    async def drop_table(
        self, name: str, *, if_exists: bool = False, purge: bool = False, cascade: bool = False
    ) -> None:
        """As :meth:`Lake.drop_table`."""
        await self._runner.run(
            self._lake.drop_table, name, if_exists=if_exists, purge=purge, cascade=cascade
        )

    async def create_rollup(
        self,
        name: str,
        select: str,
        settings: Mapping[str, Any] | None = None,
        *,
        or_replace: bool = False,
        if_not_exists: bool = False,
    ) -> RollupRefresh:
        """As :meth:`Lake.create_rollup`."""
        given = text_map(settings, "settings")
        return await self._runner.stoppable(
            lambda token: self._lake._core.create_rollup(
                name, select, bool(or_replace), bool(if_not_exists), given, token
            )
        )

    async def refresh_rollup(
        self, name: str, *, full: bool = False, max_bytes: int = 0
    ) -> RollupRefresh:
        """As :meth:`Lake.refresh_rollup`."""
        return await self._runner.stoppable(
            lambda token: self._lake._core.refresh_rollup(name, bool(full), int(max_bytes), token)
        )

    async def rollups(self) -> list[RollupInfo]:
        """As :meth:`Lake.rollups`."""
        return await self._runner.run(self._lake.rollups)

    async def drop_rollup(self, name: str, *, if_exists: bool = False) -> None:
        """As :meth:`Lake.drop_rollup`."""
        await self._runner.run(self._lake.drop_rollup, name, if_exists=if_exists)

    async def relocate(self, name: str) -> RelocateReport:
        """As :meth:`Lake.relocate`."""
        return await self._runner.run(self._lake.relocate, name)

    async def publish(self) -> PublishReport:
        """As :meth:`Lake.publish`."""
        return await self._runner.run(self._lake.publish)

    async def maintain(
        self, tables: Sequence[str] | None = None, **options: Any
    ) -> dict[str, MaintainReport]:
        """As :meth:`Lake.maintain`."""
        return await self._runner.run(self._lake.maintain, tables, **options)

    async def sql(
        self,
        query: str,
        params: Params = None,
        namespace: str = "default",
        *,
        dictionaries: bool = False,
    ) -> AsyncResult:
        """As :meth:`Lake.sql`."""
        return await _sql(self._runner, self._lake, query, params, namespace, dictionaries)

    async def latest(self, table: str) -> AsyncResult:
        """As :meth:`Lake.latest`."""
        return await (await self.table(table)).latest()

    async def close(self) -> None:
        """As :meth:`Lake.close`."""
        await self._runner.run(self._lake.close)
        self._runner.close()

    async def __aenter__(self) -> AsyncLake:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
