"""Help, usage errors, exit codes, the two outputs, signals."""

import os
import pathlib
import pty
import re
import signal
import subprocess
import time

import pytest

from conftest import ROOT

COMMANDS = ["create", "append", "import", "sql", "latest", "info", "ls", "snapshots", "files", "alter", "settings",
            "rollback", "maintain", "relocate", "verify", "drop", "duckdb"]


def test_help_of_the_command(tl):
    done = tl("--help")
    for command in COMMANDS:
        assert re.search(rf"^  {command} ", done.out, re.MULTILINE), command
    assert "Exit codes: 0 done, 1 failed, 2 the command line is wrong." in done.out
    assert "TIMELAKE_WAREHOUSE" in done.out
    assert done.err == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command_has_an_example(tl, command):
    done = tl(command, "--help")
    assert re.search(rf"Examples:\n(.*\n)*?  .*timelake {command}\b", done.out), done
    assert "Exit codes" not in done.out
    assert f"timelake {command} " in done.out.splitlines()[1] + " "
    assert tl(command, "-h").out == done.out


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_are_documented(command):
    assert f"## {command}" in (ROOT / "docs/cli.md").read_text()


def test_every_option_is_documented(tl):
    page = (ROOT / "docs/cli.md").read_text()
    for command in COMMANDS:
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", tl(command, "--help").out):
            assert f"`{option}" in page, f"{command} {option}"


def test_version(tl):
    assert re.fullmatch(r"timelake \d+\.\d+\.\d+ \(table format 0\.3\.0\)\n", tl("--version").out)
    assert tl("-V").out == tl("--version").out


@pytest.mark.parametrize("arguments, says", [
    ([], "no command is given"),
    (["inf", "t"], 'unknown command "inf", did you mean "info"?'),
    (["snapshot", "t"], 'unknown command "snapshot", did you mean "snapshots"?'),
    (["frobnicate"], 'unknown command "frobnicate"'),
    (["info"], "TABLE is required"),
    (["info", "t", "extra"], 'unknown argument "extra"'),
    (["info", "t", "--jsn"], 'unknown option "--jsn", did you mean "--json"?'),
    (["create", "t", "--schema", "a:int", "--time-colum", "a"], 'did you mean "--time-column"?'),
    (["--warehose", "x", "ls"], 'did you mean "--warehouse"?'),
    (["append", "t"], "FILES is required"),
    (["rollback", "t"], "SNAPSHOT is required"),
    (["ls", "-w"], "--warehouse"),
])
def test_usage_errors(tl, arguments, says):
    done = tl.fails(*arguments, code=2, says=says)
    assert done.out == ""
    assert re.search(r"^note: see timelake ([a-z]+ )?--help$", done.err, re.MULTILINE)


def test_options_of_all_commands_may_stand_anywhere(table):
    other = table.folder / "nowhere"
    assert table("-w", other, "ls").out == ""
    assert table("ls", "-w", other).out == ""
    assert table("ls", f"--warehouse={other}").out == ""
    assert table("ls").out == "default.t\n"


def test_broken_pipe_is_quiet(tl):
    """`timelake ... | head -1` ends like any filter."""
    process = subprocess.Popen(tl.command("sql", "SELECT * FROM range(10000000)", "--format", "csv"),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=tl.env)
    assert process.stdout.readline() == b"range\n"
    process.stdout.close()
    assert process.wait(timeout=60) == -signal.SIGPIPE
    assert process.stderr.read() == b""


LONG_QUERY = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_query(tl, number):
    process = subprocess.Popen(tl.command("sql", LONG_QUERY), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=tl.env)
    time.sleep(0.7)
    assert process.poll() is None
    start = time.monotonic()
    process.send_signal(number)
    assert process.wait(timeout=60) == -number
    assert time.monotonic() - start < 10
    assert process.stderr.read() == b"error: interrupted\n"
    assert process.stdout.read() == b""


def test_a_signal_stops_an_append_and_nothing_is_committed(table):
    fifo = table.folder / "in.fifo"
    os.mkfifo(fifo)
    before = table.tree()
    (table.folder / "tmp").mkdir()
    keep_open = os.open(fifo, os.O_RDWR)
    with open(fifo, "rb") as source:
        process = subprocess.Popen(table.command("append", "t", "-", "--input-format", "csv"), stdin=source,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**table.env, "TMPDIR": str(table.folder / "tmp")})
    os.write(keep_open, b"time,device,v,n\n2024-01-01T00:00:00Z,x,1,1\n")
    time.sleep(0.7)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == -signal.SIGINT
    os.close(keep_open)
    assert table.tree() == before
    assert list((table.folder / "tmp").iterdir()) == []


def on_terminal(command, which, env):
    """(exit code, what a terminal at stdout or stderr was sent, the other output)."""
    ours, theirs = pty.openpty()
    pipe = {"stdout": "stderr", "stderr": "stdout"}[which]
    process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, **{which: theirs, pipe: subprocess.PIPE})
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # the other end is closed
        pass
    other = getattr(process, pipe).read()
    os.close(ours)
    return process.wait(timeout=60), shown.decode(), other.decode()


def test_a_progress_bar_on_a_terminal_only(tl):
    tl.make_table(rows=None)
    rows = "".join(f"2024-01-01T{i // 3600:02}:{i // 60 % 60:02}:{i % 60:02}Z,a,1.5,{i}\n" for i in range(80000))
    path = tl.file("big.csv", "time,device,v,n\n" + rows)
    code, shown, other = on_terminal(tl.command("append", "t", path), "stderr", tl.env)
    assert code == 0
    assert re.search(r"default\.t \[[#.]{30}\] +\d+ % [\d,]+ rows", shown)
    assert shown.endswith("\r\x1b[K")
    assert other.startswith("default.t: 80,000 rows appended")
    assert tl("append", "t", path).err == ""


def test_a_query_on_a_terminal_tells_its_rows_and_time(tl):
    code, shown, other = on_terminal(tl.command("sql", "SELECT * FROM range(2) r(n)"), "stderr", tl.env)
    assert code == 0 and other == "n\n-\n0\n1\n"
    assert re.fullmatch(r"note: 2 rows in [\d.]+ m?s\r\n", shown)


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_bytes_are_not_sent_to_a_terminal(tl, form):
    code, shown, other = on_terminal(tl.command("sql", "SELECT 1", "--format", form), "stdout", tl.env)
    assert code == 2 and shown == ""
    assert f"--format {form} is not for a terminal" in other


def test_a_full_disk_is_an_error(tl):
    if not pathlib.Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with open("/dev/full", "wb") as full:
        process = subprocess.run(tl.command("sql", "SELECT 1"), stdout=full, stderr=subprocess.PIPE, env=tl.env)
    assert process.returncode == 1
    assert b"error: cannot write to standard output: No space left on device" in process.stderr
    tl.fails("sql", "SELECT 1", "--output", "/dev/full", says="No space left on device")
