"""The tables of a lake in the user's own DuckDB."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds

from ._errors import AlreadyExistsError, InvalidArgumentError
from ._lake import Lake
from ._scan import quoted
from ._table import Table

if TYPE_CHECKING:
    import duckdb

    from ._types import StrPath

__all__ = ["Attachment", "attach"]


class Attachment:
    """Tables of a lake as views in a DuckDB database, from :func:`attach`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, lake: Lake, name: str):
        self._connection = connection
        self._lake = lake
        self._name = name
        self._registered: set[str] = set()

    def __repr__(self) -> str:
        tables = f"{len(self._registered)} tables of {self._lake.location}"
        return f"<timelake.Attachment {self._name!r}: {tables}>"

    def refresh(self) -> None:
        """Makes views for tables that were created since; views of dropped tables go.

        Example:
            >>> import duckdb
            >>> connection = duckdb.connect()
            >>> attached = timelake.attach(connection, lake, "lake")
            >>> more = lake.create_table("more", "n:int")
            >>> attached.refresh()
            >>> connection.sql("SELECT count(*) FROM lake.more").fetchall()
            [(0,)]
        """
        tables = set(self._lake.tables())
        for full_name in sorted(self._registered - tables):
            self._connection.execute(f"DROP VIEW IF EXISTS {self._view(full_name)}")
            self._connection.unregister(self._source(full_name))
        for full_name in sorted(tables):
            self._add(full_name)
        self._registered = tables

    def detach(self) -> None:
        """Takes the views out of DuckDB again."""
        self._connection.execute(f"DETACH {quoted(self._name)}")
        for full_name in self._registered:
            self._connection.unregister(self._source(full_name))
        self._registered = set()

    def _add(self, full_name: str) -> None:
        space = full_name.split(".", 1)[0]
        self._connection.register(
            self._source(full_name), _LakeDataset(self._lake.table(full_name))
        )
        if space != "default":
            self._connection.execute(
                f"CREATE SCHEMA IF NOT EXISTS {quoted(self._name)}.{quoted(space)}"
            )
        self._connection.execute(
            f"CREATE OR REPLACE VIEW {self._view(full_name)} AS "
            f"FROM temp.main.{quoted(self._source(full_name))}"
        )

    def _source(self, full_name: str) -> str:
        return f"timelake:{self._name}:{full_name}"

    def _view(self, full_name: str) -> str:
        space, table = full_name.split(".", 1)
        return ".".join(map(quoted, (self._name, "main" if space == "default" else space, table)))


def attach(
    connection: duckdb.DuckDBPyConnection, location: StrPath | Lake, name: str = "lake"
) -> Attachment:
    """Registers views over the tables of a lake in your own DuckDB connection.

    They are ``name.table`` for the namespace ``default``, else ``name.namespace.table``, and can be
    joined with whatever else the connection has. Each query reads the newest version of a table;
    columns that a query does not need are not read, and its conditions on times, integers and texts
    prune files. Views last as long as the connection.

    Args:
        connection: What ``duckdb.connect()`` returned; of any version of DuckDB.
        location: The lake, or where it is.
        name: Name of the database that holds the views.

    Returns:
        An :class:`Attachment`, with ``refresh()`` for tables that are created later, and
        ``detach()``.

    Raises:
        AlreadyExistsError: The connection has a database of that name.

    Example:
        >>> import duckdb
        >>> connection = duckdb.connect()
        >>> attached = timelake.attach(connection, "warehouse", "lake")
        >>> connection.execute("SELECT max(v) FROM lake.readings WHERE device = 'a'").fetchall()
        [(2.5,)]
    """
    if not name:
        raise InvalidArgumentError("attach: the name is empty")
    known = [
        row[0]
        for row in connection.execute("SELECT database_name FROM duckdb_databases()").fetchall()
    ]
    if name.lower() in (other.lower() for other in known):
        raise AlreadyExistsError(f"attach: the connection has a database {name!r} already")
    attachment = Attachment(
        connection, location if isinstance(location, Lake) else Lake(location), name
    )
    connection.execute(f"ATTACH ':memory:' AS {quoted(name)}")
    try:
        attachment.refresh()
    except BaseException:
        attachment.detach()
        raise
    return attachment


class _LakeDataset(ds.Dataset):  # type: ignore[misc]
    """What DuckDB asks for columns and rows; it hands over its filters and expects them to be
    applied."""

    def __init__(self, table: Table):
        self._table = table

    @property
    def schema(self) -> pa.Schema:
        self._table.refresh()
        return self._table.schema

    def scanner(
        self, columns: Any = None, filter: ds.Expression | None = None, **options: Any
    ) -> ds.Scanner:
        names = self._table.schema.names
        wanted = names if columns is None else list(columns)
        text = "" if filter is None else str(filter)
        # DuckDB may filter on columns that it does not read, and count rows without any.
        needed = [name for name in names if name in wanted or name in text] or names[:1]
        rows = self._table.scan(needed, " AND ".join(_conditions(text)) or None)
        reader = pa.RecordBatchReader.from_stream(rows)
        return ds.Scanner.from_batches(reader, columns=wanted, filter=filter)

    def __reduce__(self) -> Any:
        raise TypeError("a view over a lake cannot be pickled")


_STRING = re.compile(r'"[\w .:/@+-]*"')
_COMPARISON = re.compile(r"(\w+) (==|>=|<=|>|<) (.+)")
_INTEGER = re.compile(r"-?\d{1,18}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?Z?")


def _conditions(text: str) -> list[str]:
    """Comparisons of an expression, as its text has them, that must hold for every row: as SQL, to
    prune with.

    The expression itself is applied to all rows afterwards, so what cannot be read for certain is
    left out: texts with odd characters, floats (their text is rounded), anything below OR or NOT.
    """
    if '"' in _STRING.sub("", text):
        return []
    found = []
    for part in _conjuncts(text):
        match = _COMPARISON.fullmatch(part)
        if not match:
            continue
        name, operator, value = match.groups()
        if _INTEGER.fullmatch(value):
            literal = value
        elif _TIME.fullmatch(value):
            literal = (
                f"TIMESTAMPTZ '{value.removesuffix('Z')}+00'"
                if value.endswith("Z")
                else f"TIMESTAMP '{value}'"
            )
        elif _STRING.fullmatch(value):
            literal = "'" + value[1:-1] + "'"
        else:
            continue
        found.append(f"{quoted(name)} {'=' if operator == '==' else operator} {literal}")
    return found


def _conjuncts(text: str) -> list[str]:
    """The terms of nested "(a and b)", without their parentheses."""
    text = text.strip()
    while text.startswith("(") and _closing(text) == len(text) - 1:
        text = text[1:-1].strip()
    depth = 0
    in_string = False
    for at, char in enumerate(text):
        if char == '"':
            in_string = not in_string
        elif in_string:
            continue
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif depth == 0 and text.startswith(" and ", at):
            return _conjuncts(text[:at]) + _conjuncts(text[at + 5 :])
        elif depth == 0 and text.startswith(" or ", at):
            return []
    return [text]


def _closing(text: str) -> int:
    depth = 0
    in_string = False
    for at, char in enumerate(text):
        if char == '"':
            in_string = not in_string
        elif not in_string and char == "(":
            depth += 1
        elif not in_string and char == ")":
            depth -= 1
            if depth == 0:
                return at
    return -1
