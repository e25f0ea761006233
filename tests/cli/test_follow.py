"""`append --follow`: a pipe that goes on for ever, in few commits."""

import json
import signal
import subprocess
import time

import pytest

HEADER = "time,device,v,n\n"


def record(i, text="a"):
    return f"2024-01-01T00:{i // 60:02}:{i % 60:02}Z,{text},{i}.5,{i}\n"


class Feed:
    """A running `append --follow`."""

    def __init__(self, tl, *arguments):
        self.temp = tl.folder / "tmp"
        self.temp.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            tl.command("append", "t", "-", "--input-format", "csv", "--follow", "--json", *arguments), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=tl.env | {"TMPDIR": str(self.temp)})

    def send(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def report(self):
        return json.loads(self.process.stdout.readline())

    def end(self):
        """Exit code and stderr; nothing is left behind."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        code = self.process.wait(timeout=60)
        assert list(self.temp.iterdir()) == []
        return code, self.process.stderr.read()


def count(tl):
    return tl.rows("SELECT count(*) AS n FROM t")[0]["n"]


def test_rows_are_durable_when_they_are_reported(tl):
    tl.make_table(rows=None)
    feed = Feed(tl, "--flush-ms", "50")
    feed.send(HEADER + record(1))
    assert feed.report()["rows"] == 1 and count(tl) == 1
    feed.send(record(2)[:10])
    feed.send(record(2)[10:] + record(3))
    told = feed.report()
    while told["total_rows"] < 3:
        told = feed.report()
    assert count(tl) == 3
    feed.send(record(4).rstrip("\n"))  # the end of the input ends it
    assert feed.end() == (0, "")
    assert count(tl) == 4


def test_many_rows_are_few_commits(tl):
    tl.make_table(rows=None)
    feed = Feed(tl, "--flush-rows", "1000", "--flush-ms", "60000")
    feed.send(HEADER + "".join(record(i % 3600, f"d{i // 3600}") for i in range(5000)))
    assert feed.end() == (0, "")
    reports = [json.loads(line) for line in feed.process.stdout]
    assert reports[-1]["total_rows"] == 5000 and sum(r["rows"] for r in reports) == 5000
    assert len(reports) <= 6 and count(tl) == 5000
    assert len(tl("snapshots", "t", "--json").json()) == len(reports)


def test_line_breaks_inside_quotes(tl):
    tl.make_table(rows=None)
    feed = Feed(tl)
    feed.send(HEADER + record(1, '"one\ntwo, ""three"""') + record(2))
    assert feed.end() == (0, "")
    assert [r["device"] for r in tl.rows("SELECT device FROM t ORDER BY time")] == ['one\ntwo, "three"', "a"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_commits_what_has_been_read(tl, number):
    tl.make_table(rows=None)
    feed = Feed(tl, "--flush-rows", "2", "--flush-ms", "60000")
    feed.send(HEADER + record(1) + record(2))
    assert feed.report()["rows"] == 2
    feed.send(record(3))
    feed.process.send_signal(number)
    told = feed.process.stdout.readline()
    feed.process.wait(timeout=60)
    assert count(tl) == (3 if told else 2)  # the signal may be faster than the row


def test_an_error_names_the_line_and_keeps_what_was_committed(tl):
    tl.make_table(rows=None)
    feed = Feed(tl, "--flush-ms", "50")
    feed.send(HEADER + record(1))
    assert feed.report()["rows"] == 1
    feed.send("2024-01-01T00:00:09Z,a,oops,1\n")
    code, error = feed.end()
    assert code == 1 and "oops" in error and "standard input (counting from its line 3" in error
    assert "1 commit with 1 row made before the error stay" in error
    assert count(tl) == 1


def test_wrong_use(tl):
    tl.make_table(rows=None)
    tl.fails("append", "t", "x.csv", "--follow", code=2, says="give - as the only file")
    tl.fails("append", "t", "-", "--follow", code=2, says="--input-format csv or tsv")
    tl.fails("append", "t", "-", "--follow", "--input-format", "csv", "--flush-rows", "0", code=2, says="--flush-rows")


def test_a_kill_leaves_nothing_behind(tl):
    tl.make_table(rows=None)
    feed = Feed(tl, "--flush-ms", "50")
    feed.send(HEADER + record(1))
    feed.report()
    feed.send(record(2))
    feed.process.kill()
    assert feed.end()[0] == -signal.SIGKILL
    assert 1 <= count(tl) <= 2


class KeptFeed(Feed):
    """With a write-ahead file, which is looked at to see what has been taken."""

    def __init__(self, tl, *arguments):
        self.ahead = tl.folder / "ahead"
        super().__init__(tl, "--write-ahead", str(self.ahead), *arguments)

    def send_and_wait(self, text):
        before = self.ahead.stat().st_size if self.ahead.exists() else 0
        self.send(text)
        for _ in range(6000):
            if self.ahead.exists() and self.ahead.stat().st_size > before:
                return
            time.sleep(0.01)
        raise AssertionError("the write-ahead file did not grow")


def test_a_kill_loses_nothing_with_a_write_ahead_file(tl):
    tl.make_table(rows=None)
    feed = KeptFeed(tl, "--flush-ms", "3600000")
    feed.send_and_wait(HEADER)  # opened
    feed.send_and_wait(record(1) + record(2))
    feed.send_and_wait(record(3))
    feed.process.kill()
    assert feed.end()[0] == -signal.SIGKILL
    assert count(tl) == 0
    again = KeptFeed(tl, "--flush-ms", "3600000")
    told = again.report()
    assert told == {"table": "default.t", "recovered": 3, "version": told["version"], "total_rows": 3}
    assert count(tl) == 3
    again.send(HEADER + record(4))
    assert again.end() == (0, "")
    assert json.loads(again.process.stdout.readline())["total_rows"] == 4
    assert tl.rows("SELECT count(*) AS n, count(DISTINCT time) AS d FROM t") == [{"n": 4, "d": 4}]
    assert not again.ahead.exists()


def test_many_rows_through_a_write_ahead_file(tl):
    tl.make_table(rows=None)
    feed = KeptFeed(tl, "--flush-rows", "1000", "--flush-ms", "60000")
    feed.send(HEADER + "".join(record(i % 3600, f"d{i // 3600}") for i in range(5000)))
    assert feed.end() == (0, "")
    reports = [json.loads(line) for line in feed.process.stdout]
    assert reports[-1]["total_rows"] == 5000 and sum(r["rows"] for r in reports) == 5000
    assert len(reports) <= 6 and count(tl) == 5000
    assert not feed.ahead.exists()


def test_an_error_commits_what_was_kept_before_it(tl):
    tl.make_table(rows=None)
    feed = KeptFeed(tl, "--flush-ms", "3600000")
    feed.send_and_wait(HEADER)
    feed.send_and_wait(record(1))
    feed.send("2024-01-01T00:00:09Z,a,oops,1\n")
    code, error = feed.end()
    assert code == 1 and "oops" in error and "standard input (counting from its line 3" in error
    assert "1 commit with 1 row made before the error stay" in error
    assert count(tl) == 1 and not feed.ahead.exists()


def test_wrong_use_of_a_write_ahead_file(tl):
    tl.make_table(rows=None)
    tl.fails("append", "t", "x.csv", "--write-ahead", "a", code=2, says="--write-ahead goes with --follow")
    (tl.folder / "notes").write_text("some notes of somebody")
    tl.fails("append", "t", "-", "--follow", "--input-format", "csv", "--write-ahead", str(tl.folder / "notes"), code=1,
             says="is no write-ahead file")
    assert (tl.folder / "notes").read_text() == "some notes of somebody"


def test_a_kill_while_standard_input_is_copied_leaves_nothing_behind(tl):
    tl.make_table(rows=None)
    temp = tl.folder / "tmp"
    temp.mkdir()
    process = subprocess.Popen(tl.command("append", "t", "-", "--input-format", "csv"), stdin=subprocess.PIPE,
                               env=tl.env | {"TMPDIR": str(temp)})
    # More than a pipe holds: some of it has been copied when the last byte is in.
    process.stdin.write((HEADER + "".join(record(i) for i in range(3000)) * 10).encode())
    assert list(temp.iterdir()) == []
    process.kill()
    assert process.wait(timeout=60) == -signal.SIGKILL
    assert list(temp.iterdir()) == []
    assert count(tl) == 0
