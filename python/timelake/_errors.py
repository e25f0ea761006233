"""Exceptions. All derive from TimelakeError and from the builtin that a Python user expects."""

from __future__ import annotations

__all__ = [
    "AlreadyExistsError",
    "CancelledError",
    "CommitUnknownError",
    "ConflictError",
    "CorruptError",
    "InternalError",
    "InvalidArgumentError",
    "NotFoundError",
    "StorageError",
    "TimelakeError",
    "UnsupportedError",
]


class TimelakeError(RuntimeError):
    """Base of all errors of Timelake; also a RuntimeError.

    ``str(error)`` is the message of the core, unchanged: it names table, file, line or column, the
    offending text and what is accepted.

    Attributes:
        kind: Short name of what went wrong, e.g. ``"not found"``; the same word that logs and the
            command use.

    Example:
        >>> import timelake
        >>> try:
        ...     timelake.Lake("warehouse").table("no_such_table")
        ... except timelake.TimelakeError as error:
        ...     print(error.kind)
        not found
    """

    kind: str = "error"

    # KeyError would show the text in quotes.
    def __str__(self) -> str:
        return RuntimeError.__str__(self)


class InvalidArgumentError(TimelakeError, ValueError):
    """The input, a setting or a query is wrong; nothing was stored. Also a ValueError."""

    kind = "invalid argument"


class NotFoundError(TimelakeError, KeyError):
    """No such table, namespace, snapshot or file. Also a KeyError."""

    kind = "not found"


class AlreadyExistsError(TimelakeError, FileExistsError):
    """The table exists. Also a FileExistsError."""

    kind = "already exists"


class ConflictError(TimelakeError):
    """Other writers won until the time was over; nothing of this call is in the table.

    Repeat the call, or give it more time with the setting ``commit-timeout``.
    """

    kind = "conflict"


class CommitUnknownError(TimelakeError):
    """The store did not say whether the commit was stored. Nothing was deleted.

    Repeat the append with the same ``batch_id``: it counts once.
    """

    kind = "commit unknown"


class CorruptError(TimelakeError):
    """Stored bytes contradict the format; the message names the file."""

    kind = "corrupt"


class UnsupportedError(TimelakeError, NotImplementedError):
    """Valid, but not something this version does. Also a NotImplementedError."""

    kind = "unsupported"


class StorageError(TimelakeError, OSError):
    """The operating system or the store failed; the message has its text. Also an OSError."""

    kind = "i/o"


class CancelledError(TimelakeError):
    """The call was stopped from another thread or task; nothing was committed."""

    kind = "cancelled"


class InternalError(TimelakeError):
    """A broken promise inside the library: please report it."""

    kind = "internal"


#: kind name of the core -> class
BY_KIND: dict[str, type[TimelakeError]] = {
    cls.kind: cls
    for cls in (
        InvalidArgumentError,
        NotFoundError,
        AlreadyExistsError,
        ConflictError,
        CommitUnknownError,
        CorruptError,
        UnsupportedError,
        StorageError,
        CancelledError,
        InternalError,
    )
}
