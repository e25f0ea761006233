"""Options of calls as the extension module takes them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _data
from ._errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._types import Credentials


def credentials_call(
    credentials: Credentials | None,
) -> Callable[[], tuple[dict[str, str], int]] | None:
    """``credentials`` as the core calls it: (keys, microseconds since 1970, or 0)."""
    if credentials is None:
        return None
    if not callable(credentials):
        raise TypeError(
            f"credentials must be a function without arguments, got {type(credentials).__name__}"
        )

    def call() -> tuple[dict[str, str], int]:
        given = credentials()
        if not isinstance(given, Mapping):
            raise TypeError(f"it must return a mapping, got {type(given).__name__}")
        keys = dict(given)
        expires_us = _micros(keys.pop("expires_at", None))
        return _data.text_map(keys, "credentials"), expires_us

    return call


def _micros(expires_at: object) -> int:
    if expires_at is None:
        return 0
    if isinstance(expires_at, datetime.datetime):
        if expires_at.tzinfo is None:
            raise TypeError("expires_at has no time zone")
        return round(expires_at.timestamp() * 1e6)
    if isinstance(expires_at, (int, float)) and not isinstance(expires_at, bool):
        return round(expires_at * 1e6)
    raise TypeError(
        f"expires_at must be a datetime or seconds since 1970, got {type(expires_at).__name__}"
    )


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
    rollups: bool,
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
        "rollups": bool(rollups),
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
