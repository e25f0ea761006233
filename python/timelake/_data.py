"""Turns what users have into what the core takes: Arrow schemas, streams and parameters."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._errors import InvalidArgumentError
from ._native import core

if TYPE_CHECKING:
    import datetime
    import decimal

    import pyarrow as pa

__all__ = [
    "file_paths",
    "import_batch",
    "row_count",
    "text_map",
    "to_params",
    "to_schema",
    "to_source",
]

# Rows that come one by one are gathered into batches of this many.
_ROWS_PER_BATCH = 50_000


class BatchHolder:
    """A pair of capsules as pyarrow takes it."""

    def __init__(self, pair: tuple[object, object]):
        self._pair = pair

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        return self._pair


class StreamHolder:
    """A stream capsule as pyarrow takes it."""

    def __init__(self, capsule: object):
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._capsule


class SchemaHolder:
    """A schema capsule as pyarrow takes it."""

    def __init__(self, capsule: object):
        self._capsule = capsule

    def __arrow_c_schema__(self) -> object:
        return self._capsule


def import_batch(pair: tuple[object, object]) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.record_batch(BatchHolder(pair))


def _is_a(value: object, module: str, name: str) -> bool:
    """isinstance without importing a module that nobody has imported yet."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(value, getattr(loaded, name, ()))


def _pandas_to_arrow(frame: Any) -> pa.Table:
    """A named index is data (a DatetimeIndex often is the time); a nameless one is only row
    numbers."""
    import pyarrow as pa

    named = any(name is not None for name in frame.index.names)
    return pa.Table.from_pandas(frame, preserve_index=named)


# --- schemas ---


def to_schema(schema: Any) -> object:
    """A text or a schema capsule."""
    if isinstance(schema, str):
        return schema
    if hasattr(schema, "__arrow_c_schema__"):
        return schema.__arrow_c_schema__()
    if _is_a(schema, "pandas", "DataFrame"):
        return _pandas_to_arrow(schema).schema.__arrow_c_schema__()
    inner: Any = getattr(schema, "schema", None)
    if hasattr(inner, "__arrow_c_schema__"):
        return inner.__arrow_c_schema__()
    if hasattr(schema, "__arrow_c_stream__"):
        import pyarrow as pa

        return pa.RecordBatchReader.from_stream(schema).schema.__arrow_c_schema__()
    if isinstance(schema, Mapping):
        return _schema_of_mapping(schema)
    raise TypeError(
        f"schema: {type(schema).__name__} has no columns; give a pyarrow schema or table, a data "
        "frame, a mapping of names to types, or a text such as "
        "'time:timestamptz, device:string!, v:double'"
    )


def _schema_of_mapping(schema: Mapping[str, Any]) -> object:
    if all(isinstance(kind, str) for kind in schema.values()):
        return ", ".join(f"{name}:{kind}" for name, kind in schema.items())
    import pyarrow as pa

    fields = []
    for name, kind in schema.items():
        if not isinstance(kind, pa.DataType):
            raise TypeError(
                f"schema: the type of column {name!r} is a {type(kind).__name__}, wanted a pyarrow "
                "type"
            )
        fields.append(pa.field(name, kind))
    return pa.schema(fields).__arrow_c_schema__()


# --- data ---


def to_source(data: Any, schema: Any) -> object:
    """What the core reads rows from: a capsule, a pair of capsules or a BatchSource.

    `schema` is a function that gives the table's pyarrow schema, for data without types of its own.
    """
    if _is_a(data, "pandas", "DataFrame"):
        return _pandas_to_arrow(data).__arrow_c_stream__()
    if _is_a(data, "pyarrow", "RecordBatchReader"):
        # By its own method, so that what a generator behind it raises arrives as it is.
        return core.BatchSource(data.schema.__arrow_c_schema__(), iter(data))
    if hasattr(data, "__arrow_c_stream__"):
        return data.__arrow_c_stream__()
    if hasattr(data, "__arrow_c_array__"):
        return data.__arrow_c_array__()
    if isinstance(data, Mapping):
        return _columns_to_arrow(data, schema()).__arrow_c_stream__()
    if isinstance(data, (str, bytes, bytearray)) or not isinstance(data, Iterable):
        hint = (
            "; files are appended by import_files()" if isinstance(data, (str, os.PathLike)) else ""
        )
        raise TypeError(
            f"append: {type(data).__name__} is no table data; wanted Arrow data (pyarrow, polars, "
            "pandas, DuckDB, ...), a dict of lists, a list of dicts, or an iterator of those" + hint
        )
    if (
        isinstance(data, Sequence)
        and (len(data) == 0 or isinstance(data[0], Mapping))
        and not _is_columns(data)
    ):
        return _rows_to_arrow(data, schema()).__arrow_c_stream__()
    return _chunks_to_source(iter(data), schema)


def _is_columns(rows: Sequence[Any]) -> bool:
    """Whether the first dict of a list is itself a chunk of columns."""
    return len(rows) > 0 and _holds_columns(rows[0])


def _holds_columns(row: Mapping[str, Any]) -> bool:
    """Whether all values are lists: a row may have some, for columns of lists, not only such."""
    return bool(row) and all(
        isinstance(value, (list, tuple))
        or (hasattr(value, "__array__") and getattr(value, "ndim", 1))
        for value in row.values()
    )


def _column(name: object, values: Any, field: pa.Field | None) -> pa.Array | pa.ChunkedArray:
    """Values with types of their own: the core converts them and refuses what would be lost.

    The table's type serves only where values do not show it: all None, and maps.
    """
    import pyarrow as pa

    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(
            f"append: column {name!r} is a {type(values).__name__}, wanted a list of values"
        )
    if not isinstance(values, Sequence) and not hasattr(values, "__array__"):
        values = list(values)
    try:
        if field is not None and pa.types.is_map(field.type):
            return pa.array(values, type=field.type)
        array = pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InvalidArgumentError(f"column {name!r}: {error}") from None
    if field is not None and pa.types.is_null(array.type):
        return pa.nulls(len(array), field.type)
    return array


def _columns_to_arrow(columns: Mapping[str, Any], schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    arrays = {}
    for name, values in columns.items():
        if not isinstance(name, str):
            raise TypeError(
                f"append: the column name {name!r} is a {type(name).__name__}, wanted a str"
            )
        index = schema.get_field_index(name)
        arrays[name] = _column(name, values, schema.field(index) if index >= 0 else None)
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name!r} has {length}" for name, length in lengths.items())
        raise InvalidArgumentError(f"append: the columns have different lengths: {told}")
    return pa.table(arrays)


def _rows_to_arrow(rows: Sequence[Any], schema: pa.Schema) -> pa.Table:
    if not rows:
        return schema.empty_table()
    names: dict[str, None] = {}
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise TypeError(f"append: row {number} is a {type(row).__name__}, wanted a dict")
        names.update(dict.fromkeys(row))
    return _columns_to_arrow({name: [row.get(name) for row in rows] for name in names}, schema)


def _chunk_batches(chunk: Any, schema: Any) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    if _is_a(chunk, "pandas", "DataFrame"):
        yield from _pandas_to_arrow(chunk).to_batches()
    elif isinstance(chunk, pa.RecordBatch):
        yield chunk
    elif hasattr(chunk, "__arrow_c_stream__"):
        yield from pa.RecordBatchReader.from_stream(chunk)
    elif hasattr(chunk, "__arrow_c_array__"):
        yield pa.record_batch(chunk)
    elif isinstance(chunk, Mapping):
        yield from _columns_to_arrow(chunk, schema).to_batches()
    elif isinstance(chunk, Sequence) and not isinstance(chunk, (str, bytes)):
        yield from _rows_to_arrow(chunk, schema).to_batches()
    else:
        raise TypeError(
            f"append: the iterator gave a {type(chunk).__name__}, wanted Arrow data, dicts or "
            "lists of dicts"
        )


def _chunks_to_source(chunks: Iterator[Any], schema: Any) -> object:
    """An iterator of chunks, or of rows, read as the core asks for it."""
    import pyarrow as pa

    table_schema = schema()

    def batches() -> Iterator[pa.RecordBatch]:
        for chunk in chunks:
            if isinstance(chunk, Mapping) and not _holds_columns(chunk):
                more = itertools.islice(chunks, _ROWS_PER_BATCH - 1)
                yield from _rows_to_arrow([chunk, *more], table_schema).to_batches()
            else:
                yield from _chunk_batches(chunk, table_schema)

    stream = batches()
    first = next(stream, None)
    if first is None:
        return table_schema.empty_table().__arrow_c_stream__()
    # Each chunk of Python values has the types that its own values show: 1, then 2.5.
    fields = [_common(field, table_schema) for field in first.schema]
    schema_of_all = pa.schema(fields)

    def aligned() -> Iterator[pa.RecordBatch]:
        for batch in itertools.chain([first], stream):
            yield _as(batch, schema_of_all)

    return core.BatchSource(schema_of_all.__arrow_c_schema__(), aligned())


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow.types as types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _common(field: pa.Field, schema: pa.Schema) -> pa.Field:
    """The type that all chunks are given: the table's for numbers, else that of the first."""
    index = schema.get_field_index(field.name)
    if index < 0 or not (_is_number(field.type) and _is_number(schema.field(index).type)):
        return field
    return field.with_type(schema.field(index).type)


def _as(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    names = schema.names
    if batch.schema.names != names and set(batch.schema.names) == set(names):
        batch = batch.select(names)
    if batch.schema.names != names or batch.schema.types == schema.types:
        return batch  # what is missing or too much is told by the core
    columns = []
    for field, column in zip(schema, batch.columns, strict=True):
        if _is_number(field.type) and _is_number(column.type):
            try:
                columns.append(column.cast(field.type))
            except pa.ArrowException as error:
                raise InvalidArgumentError(f"column {field.name!r}: {error}") from None
        else:
            columns.append(column)
    return pa.record_batch(columns, names=names)


def row_count(data: Any) -> int | None:
    """How many rows there will be, if that is known without reading them."""
    if isinstance(data, Mapping):
        return None
    for name in ("num_rows", "height"):
        count = getattr(data, name, None) if not hasattr(data, "fetch_batches") else None
        if isinstance(count, int):
            return count
    if _is_a(data, "pandas", "DataFrame") or isinstance(data, (list, tuple)):
        return len(data)
    return None


# --- options and parameters ---


def text_map(values: Mapping[str, Any] | None, what: str) -> dict[str, str]:
    """Settings as text: True is "true", 5 is "5"."""
    if values is None:
        return {}
    return {name: _setting(value, what, name) for name, value in values.items()}


def _setting(value: Any, what: str, name: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise TypeError(f"{what}: {name!r} is a {type(value).__name__}, wanted a str, bool or number")


def file_paths(paths: Any) -> list[str]:
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    return [os.path.expanduser(os.fspath(path)) for path in paths]


def _iso(value: datetime.datetime) -> tuple[str, str, str]:
    import datetime

    if value.tzinfo is None:
        return ("text", value.isoformat(" "), "TIMESTAMP")
    return ("text", value.astimezone(datetime.UTC).isoformat(" "), "TIMESTAMPTZ")


def _decimal(value: decimal.Decimal) -> tuple[str, str, str]:
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise InvalidArgumentError(
            f"parameter {value}: NaN and Infinity are no decimals; give a float"
        )
    scale = max(0, -exponent)
    width = max(len(digits) + max(0, exponent), scale, 1)
    if width > 38:
        raise InvalidArgumentError(f"parameter {value}: a decimal has at most 38 digits")
    return ("text", f"{value:f}", f"DECIMAL({width},{scale})")


def _param(value: Any) -> object:
    if hasattr(value, "item") and hasattr(value, "dtype") and not getattr(value, "ndim", 0):
        value = _numpy_scalar(value)
    if value is None or isinstance(value, (bool, float, str)):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else ("text", str(value), "HUGEINT")
    if _is_a(value, "datetime", "datetime"):
        return _iso(value)
    if _is_a(value, "datetime", "date"):
        return ("text", value.isoformat(), "DATE")
    if _is_a(value, "datetime", "time"):
        return ("text", value.isoformat(), "TIME")
    if _is_a(value, "datetime", "timedelta"):
        micros = (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds
        return ("text", f"{micros} microseconds", "INTERVAL")
    if _is_a(value, "decimal", "Decimal"):
        return _decimal(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return ("text", "".join(f"\\x{byte:02X}" for byte in bytes(value)), "BLOB")
    if _is_a(value, "uuid", "UUID"):
        return ("text", str(value), "UUID")
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (Sequence, set, frozenset)):
        return ("list", [_param(item) for item in value])
    raise TypeError(f"parameter: {type(value).__name__} is no value of SQL")


def _numpy_scalar(value: Any) -> Any:
    if value.dtype.kind == "M":  # nanoseconds would come as a plain number
        return value.astype("datetime64[us]").item()
    if value.dtype.kind == "m":
        return value.astype("timedelta64[us]").item()
    return value.item()


def to_params(params: Any) -> object:
    if params is None:
        return None
    if isinstance(params, Mapping):
        return {str(name): _param(value) for name, value in params.items()}
    if isinstance(params, (list, tuple)):
        return [_param(value) for value in params]
    raise TypeError(
        f"params: {type(params).__name__}, wanted a dict for $name, or a list for $1 and ?"
    )
