"""Options of calls as the extension module takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _data
from ._errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def table_options(
    time_column: str | None,
    series_key: Sequence[str] | None,
    chunk: str | None,
    retention: str | None,
    dedup: bool | None,
    ingest_time: bool | None,
    properties: Mapping[str, Any] | None,
    if_not_exists: bool,
    partition_by: str | Sequence[str] | None = None,
    expected_rows_per_day: int | None = None,
) -> dict[str, Any]:
    if expected_rows_per_day is not None:
        if chunk is not None:
            raise InvalidArgumentError(
                "chunk and expected_rows_per_day exclude each other: the one is chosen by the other"
            )
        if expected_rows_per_day < 1:
            raise InvalidArgumentError(
                f"expected_rows_per_day is a number from 1, got {expected_rows_per_day}"
            )
    return {
        "time_column": time_column or "",
        "series_key": [series_key] if isinstance(series_key, str) else list(series_key or ()),
        "chunk": chunk or "day",
        "retention": retention or "",
        "dedup": dedup,
        "ingest_time": bool(ingest_time),
        "properties": _data.text_map(properties, "properties"),
        "if_not_exists": if_not_exists,
        "partition_by": [partition_by] if isinstance(partition_by, str) else [*(partition_by or ())],
        "expected_rows_per_day": expected_rows_per_day or 0,
    }


def append_options(
    batch_id: str | None,
    properties: Mapping[str, Any] | None,
    on_future: str | None,
    settings: Mapping[str, Any] | None,
) -> dict[str, Any]:
    return {
        "batch_id": batch_id or "",
        "properties": _data.text_map(properties, "properties"),
        "on_future": on_future,
        "settings": _data.text_map(settings, "settings"),
    }


def maintain_options(
    *,
    compact: bool,
    retention: bool,
    exact: bool,
    expire: bool,
    manifests: bool,
    orphans: bool,
    orphan_min_age: str,
    force: bool,
    full: bool,
    dry_run: bool,
    max_bytes: int,
    max_seconds: float,
    shard: int,
    shards: int,
    settings: Mapping[str, Any] | None,
) -> dict[str, Any]:
    return {
        "compact": bool(compact),
        "retention": bool(retention),
        "exact": bool(exact),
        "expire": bool(expire),
        "manifests": bool(manifests),
        "orphans": bool(orphans),
        "orphan_min_age": str(orphan_min_age),
        "force": bool(force),
        "full": bool(full),
        "dry_run": bool(dry_run),
        "max_bytes": int(max_bytes),
        "max_seconds": float(max_seconds),
        "shard": int(shard),
        "shards": int(shards),
        "settings": _data.text_map(settings, "settings"),
    }


def read_options(
    format: str, null_values: Sequence[str] | None, delimiter: str | None, rows_per_commit: int
) -> dict[str, Any]:
    return {
        "format": format,
        "null_values": None if null_values is None else list(null_values),
        "delimiter": delimiter or "",
        "rows_per_commit": rows_per_commit,
    }
