"""Appends rows by PyIceberg to a table on local disk, for tests; it runs in the environment that has PyIceberg.

Reads lines of JSON, {"folder": of the table, "rows": a Parquet file}, and answers each with a line: "ok" or an error.
What it writes has no page index, is not sorted, and has PyArrow's encodings.
"""

import json
import pathlib
import re
import shutil
import sys
import uuid

import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog


def version(path):
    return int(re.fullmatch(r"v(\d+)\.metadata\.json", path.name).group(1))


def append(folder, rows):
    folder = pathlib.Path(folder)
    newest = max((folder / "metadata").glob("v*.metadata.json"), key=version)
    catalog = SqlCatalog(uuid.uuid4().hex, uri="sqlite:///:memory:", warehouse=f"file://{folder.parent}")
    catalog.create_namespace("default")
    table = catalog.register_table("default.t", f"file://{newest}")
    table.append(pq.read_table(rows).cast(table.schema().as_arrow()))
    made = pathlib.Path(re.sub("^file://", "", table.metadata_location))
    number = version(newest) + 1
    shutil.copy(made, folder / f"metadata/v{number}.metadata.json")
    (folder / "metadata/version-hint.text").write_text(str(number))


def main():
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        try:
            append(**json.loads(line))
            print("ok", file=answers, flush=True)
        except Exception as error:
            print(f"{type(error).__name__}: {error}".replace("\n", " "), file=answers, flush=True)


if __name__ == "__main__":
    main()
