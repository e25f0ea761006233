"""What a lake does with rollups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _data

if TYPE_CHECKING:
    from collections.abc import Mapping

    from . import _core
    from ._types import RollupInfo, RollupRefresh


class Rollups:
    """Methods of :class:`Lake`."""

    _core: _core.Lake

    def create_rollup(
        self,
        name: str,
        select: str,
        settings: Mapping[str, Any] | None = None,
        *,
        or_replace: bool = False,
        if_not_exists: bool = False,
    ) -> RollupRefresh:
        """Makes a rollup, a table of aggregates of another table that is kept up to date, and fills
        it.

        Args:
            name: Of the rollup.
            select: Its query: ``SELECT columns, time_bucket(width, time) AS bucket, aggregates FROM
                table [WHERE ...] GROUP BY ALL``.
            settings: Of the table that it is, e.g. ``{"retention": "2y"}``.
            or_replace: A rollup of that name is made anew.
            if_not_exists: A rollup of that name stays as it is.

        Returns:
            A :class:`RollupRefresh` (a dict).

        Raises:
            AlreadyExistsError: There is a table of that name.
            InvalidArgumentError: The query is none of that form.
            UnsupportedError: Something in it cannot be kept; the message says what can.

        Example:
            >>> lake.create_rollup("readings_1h", '''
            ...     SELECT device, time_bucket('1h', time) AS bucket, avg(v) AS v, count(*) AS n
            ...     FROM readings GROUP BY ALL''')["rows"]
            4
        """
        given = _data.text_map(settings, "settings")
        return self._core.create_rollup(name, select, bool(or_replace), bool(if_not_exists), given)

    def refresh_rollup(self, name: str, *, full: bool = False, max_bytes: int = 0) -> RollupRefresh:
        """Brings a rollup up to date with its table. Appends and maintenance do so by themselves.

        Args:
            name: Of the rollup.
            full: Compute all buckets anew, not only those that have changed.
            max_bytes: Of data files that are read; 0: no limit. The next refresh goes on.

        Raises:
            ConflictError: Another refresh was faster; nothing was committed.

        Example:
            >>> _ = lake.create_rollup("readings_1h", "SELECT time_bucket('1h', time) AS bucket, "
            ...                        "max(v) AS v FROM readings GROUP BY ALL")
            >>> lake.refresh_rollup("readings_1h")["changed"]
            False
        """
        return self._core.refresh_rollup(name, bool(full), int(max_bytes))

    def rollups(self) -> list[RollupInfo]:
        """The rollups of the lake.

        Example:
            >>> _ = lake.create_rollup("readings_1h", "SELECT time_bucket('1h', time) AS bucket, "
            ...                        "max(v) AS v FROM readings GROUP BY ALL")
            >>> [(rollup["rollup"], rollup["source"]) for rollup in lake.rollups()]
            [('default.readings_1h', 'default.readings')]
        """
        return self._core.rollups()

    def drop_rollup(self, name: str, *, if_exists: bool = False) -> None:
        """Drops a rollup; its table stays.

        Raises:
            NotFoundError: There is no such rollup.
            InvalidArgumentError: The table is none.

        Example:
            >>> _ = lake.create_rollup("readings_1h", "SELECT time_bucket('1h', time) AS bucket, "
            ...                        "max(v) AS v FROM readings GROUP BY ALL")
            >>> lake.drop_rollup("readings_1h")
            >>> lake.tables()
            ['default.readings']
        """
        self._core.drop_rollup(name, if_exists)
