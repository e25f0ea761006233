"""Types of what goes in and comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypedDict

if TYPE_CHECKING:
    import datetime
    import decimal
    import os
    import uuid
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pandas

__all__ = [
    "AppendReport",
    "AppenderStats",
    "ArrowArrayExportable",
    "ArrowSchemaExportable",
    "ArrowStreamExportable",
    "DeleteReport",
    "FileInfo",
    "HasSchema",
    "HealthReport",
    "RollupInfo",
    "RollupRefresh",
    "ImportReport",
    "MaintainReport",
    "Progress",
    "SettingInfo",
    "SnapshotInfo",
    "TableInfo",
]


class ArrowSchemaExportable(Protocol):
    """Exports an Arrow schema through the PyCapsule interface, e.g. a ``pyarrow.Schema``."""

    def __arrow_c_schema__(self) -> object: ...


class HasSchema(Protocol):
    """Has the schema of its rows, e.g. a ``pyarrow.Table``."""

    @property
    def schema(self) -> Any: ...


class ArrowArrayExportable(Protocol):
    """One batch of rows, e.g. a ``pyarrow.RecordBatch`` or a nanoarrow array."""

    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...


class ArrowStreamExportable(Protocol):
    """A stream of batches: pyarrow tables and readers, polars and pandas frames, DuckDB
    relations."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class AppendReport(TypedDict):
    """What one append did."""

    rows: int  #: rows committed by this call; 0 for a duplicate batch
    files: int  #: data files committed
    bytes: int  #: their size
    version: int  #: version of the table that holds the rows
    commit_ms: float  #: milliseconds from the first attempt to the acknowledgement
    attempts: int  #: attempts to commit; 0 when nothing was committed
    duplicate: bool  #: the batch id was known: nothing was written
    skipped: int  #: rows dropped by ``on_future="skip"`` or the setting ``on-expired``
    added_columns: list[str]  #: columns that the table has got: setting ``new-columns``
    files_merged: int  #: by the maintenance that the append did afterwards; most do none
    snapshot_id: (
        int | None
    )  #: the snapshot that added the rows (of the first append, for a duplicate)


class AppenderStats(TypedDict):
    """What an appender has done so far."""

    rows: int  #: rows that are durable
    skipped: int  #: rows dropped by ``on_future="skip"``
    commits: int
    version: int  #: of the table after the last commit; 0 before the first
    recovered: int  #: rows that were found in the write-ahead file and committed


class ImportReport(TypedDict):
    """What an import of files did."""

    rows: int
    files: int  #: data files committed
    bytes: int  #: their size
    version: int
    commits: int
    duplicates: int  #: commits whose batch id was known
    skipped: int  #: rows dropped by ``on_future="skip"``
    added_columns: list[str]  #: columns that the table has got: setting ``new-columns``


class MaintainStep(TypedDict):
    """Files of one partition that are dropped or merged (or would be, in a dry run)."""

    task: str  #: ``"retention"`` or ``"compaction"``
    partition: str  #: ``"time_day=2026-01-03"``; empty if the table is not partitioned
    reason: str  #: ``"past retention"``, ``"small files"``, ``"files not in order"``, ...
    files: int
    bytes: int
    rows: int


class MaintainReport(TypedDict):
    """What maintenance did."""

    planned: list[MaintainStep]
    partitions_compacted: int
    files_rewritten: int
    files_written: int
    rows_rewritten: int  #: in the files written
    bytes_rewritten: int  #: of the files that went
    bytes_written: int
    duplicates_removed: int  #: rows that a later write of the same series and time replaced
    rows_deleted: int  #: that delete files of other engines had marked
    delete_files_removed: int
    merges_abandoned: int  #: another writer changed what they rest on; run again
    merges_left: int  #: by ``max_bytes`` or ``max_seconds``, for the next run
    bytes_left: int  #: of those
    partitions_dropped: int  #: by retention
    files_dropped: int
    rows_dropped: int
    files_held_back: int  #: past retention, but an older row would come back without them
    index_rebuilt: bool  #: the last-value index, which the table had lost
    manifests_rewritten: int  #: that were not clustered by time
    manifests_written: int  #: for them
    snapshots_expired: int
    versions_freed: int
    objects_deleted: int
    orphans_deleted: int  #: objects that no version referred to
    orphan_bytes: int
    orphans_young: int  #: such that are not old enough yet
    rollups_refreshed: int
    rollup_rows: int  #: that they got
    seconds: float


class RollupRefresh(TypedDict):
    """What the refresh of a rollup did."""

    rollup: str
    rows: int  #: written
    ranges: int  #: of time, that were computed
    left: int  #: that ``max_bytes`` left for the next refresh
    changed: bool  #: False: nothing was new


class RollupInfo(TypedDict):
    """What a rollup is."""

    rollup: str
    source: str  #: the table that it is made from
    width: str  #: of its buckets
    keys: list[str]  #: columns that it is grouped by
    aggregates: list[str]  #: ``"avg(temp) AS mean_temp"``
    filter: str  #: SQL; empty: none
    refresh_interval: str
    retention: str  #: empty: for ever
    stale: bool  #: the source has changed since


class HealthReport(TypedDict):
    """What an operator looks for in a table."""

    small_files: int  #: below three quarters of the target size
    unsorted_files: int  #: that do not say that they are in the table's order
    overlapping_files: int  #: may share rows of one series and time with one of another write
    hint_lag: int  #: versions that the version hint is behind; -1: it is absent or garbage
    due: list[MaintainStep]  #: what ``maintain`` would do now, but for orphans and deletions


class VerifyFinding(TypedDict):
    """Something that is missing or not as it is recorded."""

    file: str  #: URI
    what: str


class DeleteReport(TypedDict):
    """What a delete did."""

    rows: int  #: that a query saw and that are gone (or would be)
    files_dropped: int  #: without a row left
    files_rewritten: int  #: those with rows left
    files_written: int  #: for them
    version: int  #: without the rows; unchanged when there were none
    snapshot_id: int  #: 0 when there were none


class VerifyReport(TypedDict):
    """What a look at all files of a table found."""

    findings: list[VerifyFinding]  #: empty: all is well
    version: int
    snapshots: int
    manifests: int
    data_files: int  #: of all kept snapshots
    delete_files: int
    bytes: int
    rows_read: int  #: with ``deep`` only
    unreferenced_objects: int  #: that no version needs: of writers at work, or left by others
    unreferenced_bytes: int
    seconds: float


class PublishedTable(TypedDict):
    """A table as :meth:`Lake.publish` has indexed it."""

    table: str  #: ``"namespace.table"``
    version: int
    metadata: str  #: URI of that version


class PublishReport(TypedDict):
    """What :meth:`Lake.publish` has written."""

    index: str  #: URI of the index
    tables: list[PublishedTable]


class RelocateReport(TypedDict):
    """What a table's move to its new place came to."""

    old_location: str  #: URI that the table recorded
    location: str  #: URI where it lies
    relocated: bool  #: False: it lay where it says
    version: int
    snapshots: int  #: all that were kept
    manifests: int  #: written anew
    files: int  #: data and delete files that they name
    delete_files: int  #: position-delete files of other engines, written anew
    seconds: float


class TableInfo(TypedDict):
    """What a table is and how large it is."""

    name: str  #: ``"namespace.table"``
    version: int
    location: str  #: URI
    time_column: str | None  #: None for a plain table
    series_key: list[str]
    chunk: str | None  #: ``"hour"``, ``"day"``, ``"month"``, ``"year"``; None: a plain table
    partition_by: list[str]  #: beside the time: ``"bucket(16, device)"``, ``"identity(site)"``
    dedup: bool
    ingest_time_column: str | None
    rows: int  #: before dedup on read and deletes
    files: int
    bytes: int
    snapshots: int
    manifests: int
    last_value_index: str | None  #: URI
    retention_us: int | None  #: microseconds; None: for ever
    delete_files: int
    table_uuid: str
    format_version: str
    batch_id_horizon_ms: int  #: batch ids since then (ms since 1970) are certainly known; 0: all
    foreign_snapshots: list[
        str
    ]  #: replace snapshots by engines that know nothing of the order of writes
    shared: bool  #: other engines write here, too
    rollup_of: str | None  #: the table that this is a rollup of
    rollups: list[str]  #: of this table
    hint_version: int  #: what version-hint.text names; 0: nothing
    properties: dict[str, str]  #: as stored


class SnapshotInfo(TypedDict):
    """One snapshot of a table."""

    snapshot_id: int
    parent_id: int | None
    sequence_number: int
    timestamp_ms: int  #: milliseconds since 1970, UTC
    operation: str  #: ``"append"``, ``"replace"``, ``"overwrite"`` or ``"delete"``
    current: bool
    summary: dict[str, str]


class FileInfo(TypedDict):
    """One data or delete file of the current snapshot."""

    path: str  #: URI
    content: str  #: ``"data"``, ``"position-deletes"`` or ``"equality-deletes"``
    partition: str  #: e.g. ``"time_day=2026-01-03"``; empty when the table has no partitions
    rows: int
    bytes: int
    sequence_number: int
    min_time_us: int | None  #: of the time column, microseconds since 1970, UTC
    max_time_us: int | None


class CacheStats(TypedDict):
    """What a lake's cache has done since the lake was opened, and holds; blocks are of 64 KiB."""

    memory_hits: int  #: blocks found in memory
    disk_hits: int  #: blocks, or whole small objects, found in the folder
    misses: int  #: asked of the store
    requests: int  #: ranged reads that the misses took
    bytes_hit: int  #: found in memory
    bytes_fetched: int  #: from the store
    evictions: int  #: blocks that left memory for others
    memory_bytes: int
    memory_limit: int
    disk_bytes: int  #: of the folder, whoever filled it
    disk_limit: int  #: 0: no folder
    damaged: int  #: files of the folder that were not what was written, removed
    failed_writes: int  #: to the folder


class SettingInfo(TypedDict):
    """One setting, as :func:`timelake.settings` lists it."""

    name: str
    default: str
    levels: str  #: ``"create"``, ``"table"``, ``"session"``, ``"call"``, with commas
    accepted: str
    description: str


class Progress(NamedTuple):
    """How far a long call is."""

    rows: int  #: rows read so far
    total_rows: int | None  #: None: not known
    bytes: int  #: bytes of the input files that are done; 0 for an append
    total_bytes: int | None  #: None for an append


# The names below are for annotations, which are never evaluated.
if TYPE_CHECKING:
    #: ``True`` for a bar by tqdm, or a callback that is given a Progress some ten times a second.
    ProgressOption = bool | Callable[[Progress], object] | None

    #: Gives storage options that are credentials, and perhaps ``expires_at``.
    Credentials = Callable[[], Mapping[str, object]]
    StrPath = str | os.PathLike[str]

    Scalar = (
        None
        | bool
        | int
        | float
        | str
        | bytes
        | datetime.datetime
        | datetime.date
        | datetime.time
        | datetime.timedelta
        | decimal.Decimal
        | uuid.UUID
    )
    ParamValue = Scalar | Sequence[Scalar]
    #: Named values for ``$name``, or a list for ``$1`` or ``?``.
    Params = Mapping[str, ParamValue] | Sequence[ParamValue] | None

    #: A time: UTC if it has no zone.
    Time = datetime.datetime | datetime.date | str | None

    SchemaInput = (
        str | ArrowSchemaExportable | HasSchema | ArrowStreamExportable | Mapping[str, Any]
    )
    DataInput = (
        ArrowStreamExportable
        | ArrowArrayExportable
        | pandas.DataFrame
        | Mapping[str, Any]
        | Iterable[Any]
    )
