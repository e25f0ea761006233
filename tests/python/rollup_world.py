"""Random tables, rollups and queries, for tests of what rollups answer."""

import datetime
import decimal
import math
import random

import timelake

START = 1_767_225_600_000_000 + 86 * 86_400_000_000  # 2026-03-28 in UTC: clocks of Paris change on the 29th
HOUR = 3_600_000_000
DAY = 24 * HOUR
SPAN = 3 * DAY

AGGREGATES = [
    "count(*)",
    "count(v)",
    "sum(v)",
    "sum(i)",
    "sum(v * 2)",
    "sum(d)",
    "min(v)",
    "max(i)",
    "max(CASE WHEN i > 0 THEN v END)",
    "min(note)",
    "avg(v)",
    "avg(i)",
    "stddev(CASE WHEN isnan(v) THEN NULL ELSE v END)",
    "var_pop(i % 100)",
    "first(v, time)",
    "last(note, time)",
    "m4(time, v)",
    "time_weighted_mean(time, v)",
    "time_weighted_mean(time, i % 100, 'linear')",
]
# Of a rollup, and of queries that it may answer.
WIDTHS = {
    "time_bucket('1m', time)": ["time_bucket('5m', time)", "time_bucket('1h', time)", "time_bucket('1d', time, 'Asia/Kolkata')"],
    "time_bucket('15m', time)": ["time_bucket('30m', time)", "date_trunc('hour', time)", "date_trunc('day', time)"],
    "time_bucket('1h', time)": [
        "time_bucket('1h', time)",
        "time_bucket('1d', time)",
        "date_trunc('month', time)",
        "date_trunc('day', time)",
        "date_trunc('week', time)",
        "time_bucket('1d', time, 'Europe/Paris')",
        "time_bucket('1 month', time, 'America/Sao_Paulo')",
        "time_bucket('90m', time)",
    ],
    "time_bucket('1h', time, TIMESTAMPTZ '2026-01-01 00:20:00+00')": ["time_bucket('3h', time, TIMESTAMPTZ '2026-01-01 00:20:00+00')"],
    "date_trunc('day', time)": ["time_bucket('1 day', time)", "time_bucket('1 month', time)", "date_trunc('day', time)"],
    "time_bucket('1d', time, 'Europe/Paris')": ["time_bucket('1d', time, 'Europe/Paris')", "date_trunc('day', time)"],
    "time_bucket('1 month', time)": ["time_bucket('1 quarter', time)", "date_trunc('year', time)"],
}
FILTERS = ["i > 0", "note = 'p'", "v IS NOT NULL AND v <> 0"]
ZONES = ["UTC", "UTC", "UTC", "Europe/Paris", "Asia/Kolkata", "Australia/Lord_Howe", "America/Sao_Paulo"]
COLUMNS = "time:timestamptz, host:string, site:string, v:double, i:long, d:decimal(12,2), note:string"


def at(micros: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(0, datetime.timezone.utc) + datetime.timedelta(microseconds=micros)


def rows(choose: random.Random, count: int, first: int = 0, span: int = SPAN) -> list[dict]:
    return [
        {
            "time": at(START + (first + choose.randrange(span)) // 7_000_000 * 7_000_000),
            "host": choose.choice(["a", "b", "c", None]),
            "site": choose.choice(["x", "y"]),
            "v": choose.choice([None, math.nan, 0.0, *(round(choose.uniform(-9, 9), 2) for _ in range(9))]),
            "i": choose.choice([None, choose.randrange(-100, 100), 2**62]),
            "d": choose.choice([None, decimal.Decimal(choose.randrange(-10000, 10000)) / 100]),
            "note": choose.choice(["p", "q", None]),
        }
        for _ in range(count)
    ]


def close(a, b) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= 1e-12 * max(abs(a), abs(b), 10.0)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(close(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[k], b[k]) for k in a)
    return a == b


def assert_same(got: list[dict], wanted: list[dict], what: str):
    def by(row):
        return tuple((value is None, str(value)) for value in row.values() if not isinstance(value, float | list))

    got, wanted = sorted(got, key=by), sorted(wanted, key=by)
    assert len(got) == len(wanted), what
    for one, other in zip(got, wanted, strict=True):
        assert one.keys() == other.keys(), what
        for name in one:
            assert close(one[name], other[name]), f"{what}: {name}: {one} != {other}"


class World:
    def __init__(self, folder, seed):
        self.seed = seed
        self.choose = random.Random(seed)
        self.lake = timelake.Lake(folder, settings={"auto-maintain": "false"})
        self.plain = timelake.Lake(folder, settings={"rollup-routing": "false"})
        self.table = self.lake.create_table(
            "raw",
            COLUMNS,
            time_column="time",
            series_key=["host", "site"],
            dedup=seed % 3 != 2,
            properties={"on-expired": "keep", "snapshot-retention": "0s", "min-snapshots": "1"},
        )
        self.rollups: dict[str, tuple] = {}
        self.floor: datetime.datetime | None = None  # what is older retention may have dropped

    def append(self, count: int = 0):
        if count:
            self.table.append(rows(self.choose, count))
        else:  # a few, late or not
            first = self.choose.randrange(SPAN)
            self.table.append(rows(self.choose, self.choose.randrange(1, 60), first, self.choose.choice([HOUR, 9 * HOUR])))

    def retain(self):
        """Drops what is older than some hours into the set."""
        now = self.plain.sql("SELECT epoch_us(now()) AS n").to_pylist()[0]["n"]
        cutoff = START + DAY + self.choose.randrange(8 * HOUR)
        self.table.set_properties({"retention": f"{(now - cutoff) // 1_000_000}s"})
        self.table.maintain(rollups=self.choose.random() < 0.5)
        self.floor = at(cutoff + HOUR)

    def create(self):
        choose = self.choose
        width = choose.choice(list(WIDTHS))
        keys = choose.sample(["host", "site", "note"], choose.randrange(4))
        aggregates = choose.sample(AGGREGATES, choose.randrange(1, 9))
        where = choose.choice([None, None, None, *FILTERS])
        name = f"r{len(self.rollups)}"
        items = [*keys, f"{width} AS bucket", *(f"{sql} AS a{n}" for n, sql in enumerate(aggregates))]
        select = f"SELECT {', '.join(items)} FROM raw{f' WHERE {where}' if where else ''} GROUP BY ALL"
        self.lake.create_rollup(name, select)
        self.rollups[name] = (width, keys, aggregates, where, select)

    def check_rollups(self, plain):
        """Each is what its query says from scratch."""
        for name, (_, _, _, _, select) in self.rollups.items():
            self.lake.refresh_rollup(name)
            wanted = plain.sql(select).to_pylist()
            got = self.lake.sql(f"FROM {name}").to_pylist()
            names = list(wanted[0]) if wanted else list(got[0]) if got else []
            if self.floor:  # what retention took stays
                got = [row for row in got if row["bucket"] >= self.floor]
                wanted = [row for row in wanted if row["bucket"] >= self.floor]
            assert_same([{n: row[n] for n in names} for row in got], wanted, f"{name}: {select}")

    def text(self) -> tuple[str, list]:
        """A query, with values for its parameters."""
        choose = self.choose
        width, keys, aggregates, where, _ = choose.choice(list(self.rollups.values()))
        bucket = choose.choice([None, choose.choice(WIDTHS[width]), choose.choice(WIDTHS[width])])
        groups = choose.sample(keys, choose.randrange(len(keys) + 1))
        if any(sql.startswith("time_weighted_mean") for sql in aggregates) and choose.random() < 0.7:
            groups = keys
        chosen = choose.sample(aggregates, choose.randrange(1, len(aggregates) + 1))
        conditions, values = [where] if where else [], []
        if keys and choose.random() < 0.3:
            conditions.append(f"{choose.choice(keys)} IN ('a', 'x', 'p')")
        elif keys and choose.random() < 0.3:
            conditions.append(f"{choose.choice(keys)} = ?")
            values.append("x")
        if choose.random() < 0.6:
            first = START + choose.randrange(SPAN)
            last = first + choose.choice([HOUR, 13 * HOUR + 7, SPAN])
            if choose.random() < 0.5:
                first, last = first // HOUR * HOUR, last // HOUR * HOUR
            if choose.random() < 0.3:
                conditions.append("time >= ? AND time < ?")
                values += [at(first), at(last)]
            elif choose.random() < 0.3:  # in the session's zone
                conditions.append(f"time >= '{at(first):%Y-%m-%d %H:%M:%S}' AND time < '{at(last):%Y-%m-%d %H:%M:%S}'")
            else:
                conditions.append(f"time >= make_timestamptz({first})")
                conditions.append(choose.choice([f"time < make_timestamptz({last})", f"make_timestamptz({last}) >= time"]))
        items = [*groups, *([f"{bucket} AS bucket"] if bucket else []), *chosen]
        text = f"SELECT {', '.join(items)} FROM raw"
        if conditions:
            text += f" WHERE {' AND '.join(conditions)}"
        if groups or bucket:
            text += " GROUP BY ALL"
        return text, values

    def query(self, session, plain) -> bool:
        """One query both ways; whether a rollup answered it."""
        text, values = self.text()
        zone = self.choose.choice(ZONES)
        for each in (session, plain):
            each.sql(f"SET TimeZone = '{zone}'").close()
        wanted = plain.sql(text, params=values or None).to_pylist()
        if self.choose.random() < 0.2:
            numbers = iter(range(1, len(values) + 1))
            prepared = "".join(f"${next(numbers)}" if c == "?" else c for c in text)
            session.sql(f"PREPARE q AS {prepared}").close()
            given = ", ".join(f"'{value.isoformat() if isinstance(value, datetime.datetime) else value}'" for value in values)
            got = session.sql(f"EXECUTE q({given})" if values else "EXECUTE q").to_pylist()
            session.sql("DEALLOCATE q").close()
        else:
            got = session.sql(text, params=values or None).to_pylist()
        assert_same(got, wanted, f"{zone}: {text}, {values}")
        plan = "".join(str(row) for row in session.sql("EXPLAIN " + text, params=values or None).to_pylist())
        return any(f"{name}\n" in plan or f".{name}" in plan for name in self.rollups)
