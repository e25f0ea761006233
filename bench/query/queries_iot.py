"""The TSBS queries of trucks, tags in the tables themselves, and ASOF joins of the two tables."""

from queries import Query, between


def latest_of_fleet(table, columns, condition="TRUE"):
    """The newest row of each truck, then the fleet, as TSBS means it."""

    def make(parameters, dialect):
        newest = dialect.latest(table, "name", f"name, driver, fleet, load_capacity, {columns}")
        return (f"SELECT name, driver, {columns} FROM ({newest}) AS newest "
                f"WHERE name IS NOT NULL AND fleet = '{parameters.fleet}' AND {condition}")

    return make


def last_location_of_one(parameters, dialect):
    return ("SELECT name, driver, longitude, latitude FROM readings "
            f"WHERE name = 'truck_{parameters.series[0]}' ORDER BY time DESC LIMIT 1")


def last_location_of_all(parameters, dialect):
    """Without conditions: the peer uses its index only where none is on the key."""
    return dialect.latest("readings", "name", "name, driver, longitude, latitude")


def stationary_trucks(parameters, dialect):
    return (f"SELECT name, driver FROM readings WHERE {between(parameters, dialect, 1 / 6)} "
            f"AND name IS NOT NULL AND fleet = '{parameters.fleet}' "
            "GROUP BY name, driver HAVING avg(velocity) < 1")


def long_driving_sessions(parameters, dialect):
    return ("SELECT name, driver FROM "
            f"(SELECT name, driver, {dialect.bucket('10 minutes')} AS ten_minutes FROM readings "
            f"WHERE {between(parameters, dialect, 4)} AND name IS NOT NULL "
            f"AND fleet = '{parameters.fleet}' GROUP BY name, driver, ten_minutes "
            "HAVING avg(velocity) > 1) AS driving GROUP BY name, driver HAVING count(*) > 22")


def fuel_consumption(parameters, dialect):
    return ("SELECT fleet, avg(fuel_consumption) AS mean, "
            "avg(nominal_fuel_consumption) AS projected FROM readings "
            "WHERE velocity > 1 AND fleet IS NOT NULL "
            "AND nominal_fuel_consumption IS NOT NULL AND name IS NOT NULL GROUP BY fleet")


def avg_load(parameters, dialect):
    return ("SELECT fleet, model, load_capacity, avg(mean_load / load_capacity) AS load FROM "
            "(SELECT name, fleet, model, load_capacity, avg(current_load) AS mean_load "
            "FROM diagnostics WHERE name IS NOT NULL "
            "GROUP BY name, fleet, model, load_capacity) AS loads "
            "GROUP BY fleet, model, load_capacity")


def daily_activity(parameters, dialect):
    return ("SELECT fleet, model, day, sum(n) AS n FROM "
            f"(SELECT name, fleet, model, {dialect.bucket('1 day')} AS day, "
            f"{dialect.bucket('10 minutes')} AS ten_minutes, count(*) AS n FROM diagnostics "
            "WHERE name IS NOT NULL GROUP BY name, fleet, model, day, ten_minutes "
            "HAVING avg(status) < 1) AS active GROUP BY fleet, model, day")


def asof(condition):
    """Each reading with the state of its truck at that time."""

    def make(parameters, dialect):
        joined = dialect.asof_join("readings", "diagnostics", "name")
        return joined and ("SELECT l.name AS name, l.time AS at, l.velocity AS velocity, "
                           "r.fuel_state AS fuel_state, r.current_load AS load "
                           f"FROM {joined} WHERE {condition(parameters, dialect)}")

    return make


def one_truck(parameters, dialect):
    return (f"l.name = 'truck_{parameters.series[0]}' AND "
            f"{between(parameters, dialect, 12, 'l.time')}")


def all_trucks(parameters, dialect):
    return between(parameters, dialect, 1, "l.time")


ALL = [
    Query("last-loc-one", last_location_of_one),
    Query("last-loc-all", last_location_of_all, ordered=False),
    Query("last-loc", latest_of_fleet("readings", "longitude, latitude"), ordered=False),
    Query("low-fuel", latest_of_fleet("diagnostics", "fuel_state", "fuel_state < 0.1"),
          ordered=False),
    Query("high-load",
          latest_of_fleet("diagnostics", "current_load", "current_load / load_capacity > 0.9"),
          ordered=False),
    Query("stationary-trucks", stationary_trucks, ordered=False),
    Query("long-driving-sessions", long_driving_sessions, ordered=False),
    Query("fuel-consumption", fuel_consumption, ordered=False),
    Query("avg-load", avg_load, ordered=False),
    Query("daily-activity", daily_activity, ordered=False),
    Query("asof-one-12", asof(one_truck), ordered=False),
    Query("asof-all-1", asof(all_trucks), ordered=False),
]
