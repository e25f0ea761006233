"""A session: a DuckDB that keeps what is set in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import _data
from ._native import core
from ._result import Result

if TYPE_CHECKING:
    from types import TracebackType

    from ._lake import Lake
    from ._types import Params, StrPath

__all__ = ["Session"]


class Session:
    """An embedded DuckDB with the lake attached: settings and temporary tables stay until it is
    closed.

    Its statements run one at a time; a large result must be read to its end or closed before the
    next. Open one session per thread to run them at once. From :meth:`Lake.session`.
    """

    def __init__(
        self,
        lake: Lake,
        namespace: str = "default",
        threads: int = 0,
        memory_limit: str | None = None,
        temp_directory: StrPath | None = None,
        dictionaries: bool = False,
    ):
        self._core = core.Session(
            lake._core,
            namespace,
            threads,
            memory_limit or "",
            "" if temp_directory is None else os.path.expanduser(os.fspath(temp_directory)),
            dictionaries,
        )

    def sql(self, query: str, params: Params = None) -> Result:
        """Runs one statement; as :meth:`Lake.sql`, but what it sets stays.

        Example:
            >>> with lake.session() as session:
            ...     _ = session.sql("SET TimeZone = 'Asia/Tokyo'")
            ...     session.sql("SELECT hour(TIMESTAMPTZ '2026-01-03 00:00:00+00') AS h")[0][0]
            <pyarrow.Int64Scalar: 9>
        """
        return Result(self._core.sql(query, _data.to_params(params)))

    def script(self, text: str) -> Result | None:
        """Runs the statements of a script and returns the result of the last one.

        Example:
            >>> with lake.session() as session:
            ...     session.script("SET threads = 1; SELECT 1 AS one;").to_pylist()
            [{'one': 1}]
        """
        result = None
        for statement in core.split(text):
            if result is not None:
                result.close()
            result = self.sql(statement)
        return result

    def interrupt(self) -> None:
        """Stops the running statement, from another thread; nothing when none runs.

        Example:
            >>> with lake.session() as session:
            ...     session.interrupt()
        """
        self._core.interrupt()

    def close(self) -> None:
        """Closes the session once its results are read or closed.

        Example:
            >>> session = lake.session()
            >>> session.close()
        """
        self._core.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
