"""The queries of the sections that ask a fresh process."""

import datetime

from queries import START, Query, of_hosts


def files():
    return [
        Query("one-series", lambda parameters, dialect: (
            f"SELECT time, usage_user FROM files WHERE {of_hosts(parameters, 1)} ORDER BY time")),
        Query("count", lambda parameters, dialect: "SELECT count(*) AS n FROM files"),
        Query("latest-of-one", lambda parameters, dialect: (
            f"SELECT * FROM files WHERE {of_hosts(parameters, 1)} ORDER BY time DESC LIMIT 1")),
        Query("latest-of-all", lambda parameters, dialect: dialect.latest("files", "hostname"),
              ordered=False),
    ]


def wide(hours):
    def avg_by_region(parameters, dialect):
        begin = START + datetime.timedelta(hours=parameters.series[0] % hours)
        end = begin + datetime.timedelta(hours=1)
        return ("SELECT region, avg(v0) AS mean FROM wide "
                f"WHERE time >= {dialect.instant(begin)} AND time < {dialect.instant(end)} "
                "GROUP BY region ORDER BY region")

    def device(parameters):
        return f"device = 'device-{parameters.series[0]:07}'"

    return [
        Query("one-series", lambda parameters, dialect: (
            f"SELECT * FROM wide WHERE {device(parameters)} ORDER BY time")),
        Query("latest-of-one", lambda parameters, dialect: (
            f"SELECT * FROM wide WHERE {device(parameters)} ORDER BY time DESC LIMIT 1")),
        Query("latest-of-all", lambda parameters, dialect: dialect.latest("wide", "device"),
              ordered=False),
        Query("count", lambda parameters, dialect: "SELECT count(*) AS n FROM wide"),
        Query("avg-hour-by-region", avg_by_region),
    ]
