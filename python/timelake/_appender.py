"""Many small writes in few commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _data

if TYPE_CHECKING:
    from types import TracebackType

    from . import _core
    from ._table import Table
    from ._types import AppenderStats, DataInput

__all__ = ["Appender"]


class Appender:
    """Collects rows and commits them together, from :meth:`Table.appender`.

    A commit begins when ``flush_rows`` rows wait or the oldest has waited for ``flush_interval``
    seconds; meanwhile the next rows gather. Rows are durable when :meth:`wait`, :meth:`flush` or
    the end of the ``with`` block says so; what was not acknowledged is lost with the process, unless
    there is a write-ahead file.
    Thread-safe. Not usable in a forked child process.
    """

    def __init__(self, table: Table, core: _core.Appender):
        self._table = table
        self._core = core

    def __enter__(self) -> Appender:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except Exception as failure:
            if error is None:
                raise
            error.add_note(f"rows that were given to the appender are lost: {failure}")

    def append(self, data: DataInput) -> int:
        """Takes all rows of `data`, or none; returns the number of this write, for :meth:`wait`.

        Waits while the rows of more than four commits are waiting.

        Args:
            data: As for :meth:`Table.append`; an iterator is read to its end first.

        Raises:
            InvalidArgumentError: A value does not fit its column, a column is missing or unknown,
                or the appender is closed; none of these rows was taken, other rows are not harmed.

        Example:
            >>> with table.appender() as appender:
            ...     write = appender.append({"time": ["2026-01-03T01:00:00Z"], "device": ["a"]})
            ...     appender.wait(write)
        """
        return self._core.append(_data.to_source(data, lambda: self._table.schema))

    def wait(self, write: int) -> None:
        """Waits until a write is durable.

        Raises:
            TimelakeError: The commit that the rows were in failed.

        Example:
            >>> with table.appender(flush_interval=0.1) as appender:
            ...     rows = {"time": ["2026-01-03T01:30:00Z"], "device": ["a"]}
            ...     appender.wait(appender.append(rows))
        """
        self._core.wait(write)

    def flush(self) -> AppenderStats:
        """Commits what waits and returns when it is durable.

        Raises:
            TimelakeError: A commit since the last flush failed; its rows are not in the table
                (after :class:`CommitUnknownError` they may be).

        Example:
            >>> with table.appender(flush_rows=1000) as appender:
            ...     for second in range(3):
            ...         time = f"2026-01-03T02:00:0{second}Z"
            ...         _ = appender.append({"time": [time], "device": ["a"]})
            ...     stats = appender.flush()
            >>> stats["rows"], stats["commits"]
            (3, 1)
        """
        return self._core.flush()

    def close(self) -> AppenderStats:
        """Does :meth:`flush`; afterwards nothing more is taken. Closing again is fine.

        Example:
            >>> appender = table.appender()
            >>> appender.close()["rows"]
            0
        """
        return self._core.close()
