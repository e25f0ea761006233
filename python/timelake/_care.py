"""What keeps a table well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._options import maintain_options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from . import _core
    from ._types import HealthReport, MaintainReport, VerifyReport


class Care:
    """Methods of :class:`Table`."""

    _core: _core.Table

    def maintain(
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
        """Keeps the table small and fast. Safe beside any number of writers and readers.

        Partitions older than the table's ``retention`` are dropped. Small, unsorted and overlapping
        data files are merged; with ``dedup`` the last write of each series and time stays.
        Snapshots that the table's settings no longer want expire (``snapshot-retention``,
        ``min-snapshots``, ``max-snapshots``), and files that no version needs are deleted. Rollups
        of the table are refreshed first.

        Args:
            compact: Merge data files.
            retention: Drop past partitions.
            expire: Expire snapshots and delete what nothing needs any more.
            rollups: Refresh the table's rollups.
            exact: Delete single rows past retention, too, out of partitions that stay.
            manifests: Cluster manifests by time where queries would open many of them.
            orphans: Delete objects of the table's folders that no version refers to.
            orphan_min_age: Younger objects are no orphans: a writer may be about to commit them.
            force: Take an ``orphan_min_age`` below 24h.
            full: Merge every partition as a whole, also where nothing asks for it.
            dry_run: Only say what would be done (``planned`` in the report).
            max_bytes: Of data files that one run reads; 0: no limit. The next run goes on.
            max_seconds: Nothing that takes long begins after; what is done is committed. 0: no limit.
            shard: Which share of the work this is, from 0: its own partitions are merged; the other
                tasks are those of shard 0.
            shards: How many shares there are, each for another run, on any machine.
            settings: Settings for this call, e.g. ``{"write-memory-bytes": 256 << 20}``.

        Returns:
            A :class:`MaintainReport` (a dict).

        Raises:
            ConflictError: Other writers won until the time was over.

        Example:
            >>> _ = table.append([{"time": "2026-01-03", "device": "c", "v": 3.0}])
            >>> report = table.maintain()
            >>> report["files_rewritten"], report["files_written"]
            (2, 1)
        """
        return self._core.maintain(
            maintain_options(
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
        )

    def verify(self, deep: bool = False) -> VerifyReport:
        """Looks whether all that the kept snapshots refer to is there and as it is recorded.

        Changes nothing.

        Args:
            deep: Read the data of the current snapshot, too.

        Returns:
            A :class:`VerifyReport` (a dict), whose ``findings`` are empty if all is well.

        Example:
            >>> table.verify(deep=True)["findings"]
            []
        """
        return self._core.verify(bool(deep))

    def health(self) -> HealthReport:
        """Looks for what maintenance would improve, and what it would do now. Changes nothing.

        Returns:
            A :class:`HealthReport` (a dict).

        Example:
            >>> table.health()["hint_lag"]
            0
        """
        return self._core.health()
