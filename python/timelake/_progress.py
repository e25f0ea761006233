"""Progress of long calls: a bar by tqdm, or the caller's callback."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from ._types import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ._types import ProgressOption

    Tick = Callable[[int, int, int], None]

__all__ = ["reporting"]


def _bar(total: int | None, unit: str) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError(
            "progress=True needs tqdm (pip install tqdm); a callback needs nothing"
        ) from None
    return tqdm(total=total, unit=unit, unit_scale=True, leave=False)


@contextlib.contextmanager
def reporting(
    option: ProgressOption, total_rows: int | None, by_bytes: bool
) -> Iterator[Tick | None]:
    """Gives the function that the core calls with rows, bytes done and bytes in all; None for no
    report."""
    if option is None or option is False:
        yield None
        return
    if option is not True:
        callback = option

        def tell(rows: int, done: int, total: int) -> None:
            callback(Progress(rows, total_rows, done, total if by_bytes else None))

        yield tell
        return
    with _bar(total_rows, "B" if by_bytes else "rows") as bar:

        def show(rows: int, done: int, total: int) -> None:
            if by_bytes:
                bar.total = total or None
            bar.set_postfix_str(f"{rows:,} rows" if by_bytes else "", refresh=False)
            bar.update((done if by_bytes else rows) - bar.n)

        yield show
