"""The magic `timelake` for IPython and notebooks."""

from __future__ import annotations

import re
from typing import Any

from ._lake import Lake
from ._result import Result

__all__ = ["load"]

_PARAMETER = re.compile(r"\$([A-Za-z_]\w*)")
_STRING_OR_COMMENT = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)


class _Magic:
    def __init__(self, shell: Any):
        self._shell = shell
        self._lake: Lake | None = None

    def __call__(self, line: str, cell: str | None = None) -> Any:
        """SQL over a lake.

        %timelake LOCATION         opens a lake (or give it a Lake of a variable: %timelake lake)
        %timelake SQL              runs one statement
        %%timelake [NAME] [-n NS]  runs the cell's statement; its result also goes into the variable
        NAME;
                                   bare table names are looked up in the namespace NS

        $name in the SQL is the value of the variable `name`.
        """
        if cell is None:
            return self._line(line.strip())
        words = line.split()
        namespace = "default"
        if "-n" in words:
            at = words.index("-n")
            if at + 1 >= len(words):
                raise ValueError("%%timelake: -n needs a namespace")
            namespace = words[at + 1]
            del words[at : at + 2]
        if len(words) > 1 or (words and not words[0].isidentifier()):
            raise ValueError(f"%%timelake takes the name of one variable, got {line.strip()!r}")
        result = self._run(cell, namespace)
        if words:
            self._shell.user_ns[words[0]] = result
        return result

    def _line(self, text: str) -> Any:
        if not text:
            return self._open_lake()
        if len(text.split()) > 1:
            return self._run(text, "default")
        value = self._shell.user_ns.get(text)
        self._lake = value if isinstance(value, Lake) else Lake(text)
        return self._lake

    def _open_lake(self) -> Lake:
        if self._lake is None:
            raise ValueError("no lake yet: %timelake LOCATION opens one")
        return self._lake

    def _run(self, text: str, namespace: str) -> Result:
        variables = self._shell.user_ns
        names = dict.fromkeys(_PARAMETER.findall(_STRING_OR_COMMENT.sub("", text)))
        missing = [name for name in names if name not in variables]
        if missing:
            raise ValueError(f"no variable {missing[0]!r} for ${missing[0]}")
        return self._open_lake().sql(
            text.strip().rstrip(";"), {name: variables[name] for name in names}, namespace
        )


def load(shell: Any) -> None:
    magic = _Magic(shell)

    def timelake(line: str, cell: str | None = None) -> Any:
        return magic(line, cell)

    timelake.__doc__ = _Magic.__call__.__doc__
    shell.register_magic_function(timelake, magic_kind="line_cell", magic_name="timelake")
