"""The command with a warehouse in a bucket of S3; the main job: test_stores.py."""

from conftest import CONTRACT, ROWS, SCHEMA


def test_cache_folder(tl, s3_server):
    """--cache-dir is shared by processes; a warehouse in a folder has no use for it."""
    env = {**s3_server.env, "TIMELAKE_WAREHOUSE": f"s3://{s3_server.bucket()}/wh"}
    tl("import", "t", tl.file("rows.csv", ROWS), *CONTRACT, env=env)
    folder = tl.folder / "cache"
    ask = ("sql", "--format", "csv", "SELECT * FROM t ORDER BY ALL")
    first = tl("-v", "--cache-dir", folder, "--cache-bytes", "99999999", *ask, env=env)
    assert "store.read_at" in first.err and "cache.blocks_missed" in first.err and list(folder.rglob("*.block"))
    again = tl("-v", *ask, env={**env, "TIMELAKE_CACHE_DIR": str(folder)})
    assert again.out == first.out and "cache.blocks_on_disk" in again.err, again.err
    assert "store.read_at" not in again.err and "cache.blocks_missed" not in again.err, again.err
    tl.fails("--cache-dir", folder, "--cache-bytes", "4G", *ask, env=env, says="number of bytes")
    tl.fails("--cache-dir", tl.file("file", "x"), *ask, env=env, says="cache folder")
    env = {"TIMELAKE_WAREHOUSE": str(tl.folder / "local"), "TIMELAKE_CACHE_DIR": str(tl.folder / "other")}
    tl("import", "t", tl.file("rows.csv", ROWS), *CONTRACT, env=env)
    assert tl(*ask, env=env).out == first.out and not (tl.folder / "other").exists()


def test_options_and_secrets(tl, s3_server):
    warehouse = f"s3://{s3_server.bucket()}/wh"
    options = [text for key, value in s3_server.options.items() for text in ("-o", f"{key}={value}")]
    clean = {"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
             "AWS_EC2_METADATA_DISABLED": "true"}
    tl("-w", warehouse, *options, "create", "t", "--schema", SCHEMA, *CONTRACT, env=clean)
    done = tl("-w", warehouse, *options, "-vv", "append", "t", tl.file("rows.csv", ROWS), env=clean)
    told = [done]
    told.append(tl("-w", warehouse, *options, "info", "t", "--json", env=clean))
    told.append(tl.fails("-w", warehouse, *options, "-o", "aws_secret_access_kez=S3CRET", "ls", env=clean,
                         says="aws_secret_access_key"))
    wrong = [text.replace(s3_server.env["AWS_SECRET_ACCESS_KEY"], "S3CRET") for text in options]
    told.append(tl.fails("-w", warehouse, *wrong, "ls", env=clean, says="SignatureDoesNotMatch"))
    told.append(tl.fails("-w", warehouse, *options[2:], "ls", env=clean, says="aws_access_key_id"))
    for done in told:
        assert "S3CRET" not in done.out + done.err, done
        assert s3_server.env["AWS_SECRET_ACCESS_KEY"] not in done.out + done.err, done
    tl.fails("-w", warehouse, "ls", env={**clean, "HOME": str(tl.folder)}, says="no credentials for s3://")
