"""The queries, as functions of random parameters, in the dialect of each system."""

import dataclasses
import datetime
import typing

METRICS = [f"usage_{name}" for name in ("user", "system", "idle", "nice", "iowait", "irq",
                                        "softirq", "steal", "guest", "guest_nice")]
START = datetime.datetime(2026, 1, 1)


class Dialect:
    """What the systems write differently."""

    def instant(self, value):
        return f"TIMESTAMPTZ '{value:%Y-%m-%d %H:%M:%S}+00'"

    def bucket(self, width):
        return f"time_bucket('{width}', time)"

    def newest_of_each(self, table, key):
        """As TSBS writes it."""
        return f"SELECT DISTINCT ON ({key}) * FROM {table} ORDER BY {key}, time DESC"

    def latest(self, table, key, columns="*"):
        return (f"SELECT {columns} FROM {table} "
                f"QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY time DESC) = 1")

    def asof_join(self, left, right, key):
        return f"{left} AS l ASOF JOIN {right} AS r ON l.{key} = r.{key} AND l.time >= r.time"


class DataFusion(Dialect):
    def instant(self, value):
        return f"'{value:%Y-%m-%dT%H:%M:%S}Z'"

    def asof_join(self, left, right, key):
        return None


class DuckDb(Dialect):
    def bucket(self, width):
        # Days go by the time zone: a hundred times slower.
        width = "24 hours" if width == "1 day" else width
        return f"time_bucket(INTERVAL '{width}', time)"


class ClickHouse(Dialect):
    buckets = {"1 minute": "toStartOfMinute(time)", "10 minutes": "toStartOfTenMinutes(time)",
               "1 hour": "toStartOfHour(time)", "1 day": "toStartOfDay(time)"}

    def instant(self, value):
        return f"toDateTime64('{value:%Y-%m-%d %H:%M:%S}', 6, 'UTC')"

    def bucket(self, width):
        return self.buckets[width]

    def newest_of_each(self, table, key):
        return f"SELECT * FROM ({self.latest(table, key)}) ORDER BY {key}"

    def latest(self, table, key, columns="*"):
        """Both descending, that it reads the table backwards and does not sort."""
        return f"SELECT {columns} FROM {table} ORDER BY {key} DESC, time DESC LIMIT 1 BY {key}"


@dataclasses.dataclass
class Query:
    name: str
    make: typing.Callable  # (parameters, dialect) -> SQL, or None: the system has no such thing
    ordered: bool = True   # rows compare in their order


@dataclasses.dataclass
class Parameters:
    """One draw: the same for all systems."""
    series: list  # numbers of hosts or trucks
    starts: dict  # hours -> begin of a range of that length
    fleet: str

    @classmethod
    def draw(cls, random, series, days):
        starts = {}
        for hours in (1 / 6, 1, 4, 8, 12):
            steps = random.randrange(int((days * 24 - hours) * 360))
            starts[hours] = START + datetime.timedelta(seconds=10 * steps)
        return cls(random.sample(range(series), min(8, series)), starts,
                   random.choice(["East", "West", "North", "South"]))


def between(parameters, dialect, hours, column="time"):
    begin = parameters.starts[hours]
    return (f"{column} >= {dialect.instant(begin)} AND {column} < "
            f"{dialect.instant(begin + datetime.timedelta(hours=hours))}")


def of_hosts(parameters, count):
    names = ", ".join(f"'host_{host}'" for host in parameters.series[:count])
    return f"hostname IN ({names})" if count > 1 else f"hostname = {names}"


def of_table(table):
    """The TSBS kinds and a few more, on a table of cpu data."""

    def single_groupby(metrics, hosts, hours):
        def make(parameters, dialect):
            values = ", ".join(f"max({name}) AS max_{name}" for name in METRICS[:metrics])
            return (f"SELECT {dialect.bucket('1 minute')} AS minute, {values} FROM {table} WHERE "
                    f"{of_hosts(parameters, hosts)} AND {between(parameters, dialect, hours)} "
                    "GROUP BY minute ORDER BY minute")
        return Query(f"single-groupby-{metrics}-{hosts}-{hours}", make)

    def cpu_max_all(hosts):
        def make(parameters, dialect):
            values = ", ".join(f"max({name}) AS max_{name}" for name in METRICS)
            return (f"SELECT {dialect.bucket('1 hour')} AS hour, {values} FROM {table} WHERE "
                    f"{of_hosts(parameters, hosts)} AND {between(parameters, dialect, 8)} "
                    "GROUP BY hour ORDER BY hour")
        return Query(f"cpu-max-all-{hosts}", make)

    def double_groupby(metrics):
        def make(parameters, dialect):
            values = ", ".join(f"avg({name}) AS mean_{name}" for name in METRICS[:metrics])
            return (f"SELECT {dialect.bucket('1 hour')} AS hour, hostname, {values} FROM {table} "
                    f"WHERE {between(parameters, dialect, 12)} "
                    "GROUP BY hour, hostname ORDER BY hour, hostname")
        return Query(f"double-groupby-{metrics if metrics < 10 else 'all'}", make)

    def high_cpu(hosts):
        def make(parameters, dialect):
            of = f"{of_hosts(parameters, hosts)} AND " if hosts else ""
            return (f"SELECT * FROM {table} WHERE {of}usage_user > 90.0 AND "
                    f"{between(parameters, dialect, 12)}")
        return Query(f"high-cpu-{hosts or 'all'}", make, ordered=False)

    def orderby_limit(parameters, dialect):
        return (f"SELECT {dialect.bucket('1 minute')} AS minute, max(usage_user) AS max_usage_user "
                f"FROM {table} WHERE time < {dialect.instant(parameters.starts[12])} "
                "GROUP BY minute ORDER BY minute DESC LIMIT 5")

    return [
        single_groupby(1, 1, 1), single_groupby(1, 1, 12), single_groupby(1, 8, 1),
        single_groupby(5, 1, 1), single_groupby(5, 1, 12), single_groupby(5, 8, 1),
        cpu_max_all(1), cpu_max_all(8),
        double_groupby(1), double_groupby(5), double_groupby(10),
        high_cpu(0), high_cpu(1),
        Query("lastpoint", lambda parameters, dialect: dialect.newest_of_each(table, "hostname")),
        Query("groupby-orderby-limit", orderby_limit),
        Query("one-series-all-time", lambda parameters, dialect: (
            f"SELECT time, usage_user FROM {table} WHERE {of_hosts(parameters, 1)} ORDER BY time")),
        Query("count", lambda parameters, dialect: f"SELECT count(*) AS n FROM {table}"),
        Query("avg-of-all", lambda parameters, dialect: (
            f"SELECT avg(usage_user) AS mean FROM {table}")),
        Query("latest-of-all", lambda parameters, dialect: dialect.latest(table, "hostname"),
              ordered=False),
        Query("newest-of-one", lambda parameters, dialect: (
            f"SELECT * FROM {table} WHERE {of_hosts(parameters, 1)} ORDER BY time DESC LIMIT 1")),
        Query("newest-10", lambda parameters, dialect: (
            f"SELECT time, usage_user FROM {table} ORDER BY time DESC, hostname LIMIT 10")),
    ]
