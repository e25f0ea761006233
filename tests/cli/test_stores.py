"""The command with a warehouse in S3, Google Cloud Storage, Azure, and behind a web server. More of S3: test_s3.py."""

import json

import pytest
from conftest import CONTRACT, OTHER_ROWS, ROWS, SCHEMA


@pytest.fixture(params=["s3_server", "gcs_server", "azure_server"])
def server(request):
    return request.getfixturevalue(request.param)


def test_main_job(tl, server):
    env = {**server.env, "TIMELAKE_WAREHOUSE": f"{server.scheme}://{server.bucket()}/a/wh"}
    tl("create", "plant.t", "--schema", SCHEMA, *CONTRACT, env=env)
    tl("append", "plant.t", tl.file("rows.csv", ROWS), env=env)
    tl("import", "u", tl.file("other.csv", OTHER_ROWS), *CONTRACT, env=env)
    assert tl("ls", env=env).out.split() == ["default.u", "plant.t"]
    assert tl("sql", "--format", "csv", "SELECT count(*) AS n FROM plant.t", env=env).csv() == [["n"], ["3"]]
    assert len(tl("latest", "plant.t", "--format", "csv", env=env).csv()) == 3
    info = json.loads(tl("info", "plant.t", "--json", env=env).out)
    assert info["rows"] == 3 and info["location"].startswith(f"{server.scheme}://")
    tl("maintain", env=env)
    tl("verify", "--deep", env=env)
    tl("alter", "plant.t", "--set", "retention=9000d", env=env)
    tl("drop", "plant.t", env=env)
    assert tl("ls", env=env).out.split() == ["default.u"]


def test_options_and_secrets(tl, azure_server):
    key = azure_server.options["azure_storage_account_key"]
    warehouse = f"az://{azure_server.bucket()}/wh"
    options = [text for name, value in azure_server.options.items() for text in ("-o", f"{name}={value}")]
    told = [tl("-w", warehouse, *options, "create", "t", "--schema", SCHEMA, *CONTRACT)]
    told.append(tl("-w", warehouse, *options, "-vv", "append", "t", tl.file("rows.csv", ROWS)))
    told.append(tl("-w", warehouse, *options, "info", "t", "--json"))
    wrong = [text.replace(key, "UzNDUkVU") for text in options]
    told.append(tl.fails("-w", warehouse, *wrong, "ls", says="403"))
    told.append(tl.fails("-w", warehouse, *options, "-o", "azure_tokem=UzNDUkVU", "ls", says="azure_storage_token"))
    for done in told:
        assert key not in done.out + done.err and "UzNDUkVU" not in done.out + done.err, done
    tl.fails("-w", warehouse, "ls", says="which account?")


def test_publish(tl, web_server):
    tl("create", "plant.t", "--schema", SCHEMA, *CONTRACT)
    tl("append", "plant.t", tl.file("rows.csv", ROWS))
    root = tl("info", "plant.t", "--json").out
    folder = json.loads(root)["location"].removeprefix("file://").removesuffix("/plant/t")
    url = f"{web_server.url}/{folder.removeprefix(str(web_server.root)).lstrip('/')}"
    tl.fails("-w", url, "ls", says="timelake publish")
    report = json.loads(tl("publish", "--json").out)
    assert report == {
        "index": f"file://{folder}/timelake-index.json",
        "tables": [{"table": "plant.t", "version": 2,
                    "metadata": f"file://{folder}/plant/t/metadata/v2.metadata.json"}],
    }
    assert tl("publish").out == f"file://{folder}/timelake-index.json: 1 table\n"
    assert tl("-w", url, "ls").out.split() == ["plant.t"]
    assert tl("-w", url, "sql", "--format", "csv", "SELECT count(*) AS n FROM plant.t").csv() == [["n"], ["3"]]
    assert len(tl("-w", url, "latest", "plant.t", "--format", "csv").csv()) == 3
    tl.fails("-w", url, "append", "plant.t", tl.file("rows.csv", ROWS), says="can only be read")
    tl.fails("-w", url, "publish", says="can only be read")
