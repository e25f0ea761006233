"""TSBS IoT data (github.com/timescale/tsbs): `trucks` trucks send readings and diagnostics every
ten seconds.

    python bench/query/generate_iot.py out=FOLDER [trucks=200] [days=3] [seed=1]

One Parquet file a table and day (FOLDER/readings, FOLDER/diagnostics), rows in order of arrival. As
TSBS' generator does it: values are random walks cut to a few digits; of the batches of ten rows 1 %
are lost and 5 % come late (here by ten minutes on average, so that some are in the file of the next
day); of the other rows 9 % are lost; one in ten has a NULL value, one in a hundred a NULL tag. No
two rows of a table agree in truck and time, also where the truck is NULL.
"""

import dataclasses
import datetime
import pathlib
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
INTERVAL_S = 10
BATCH = 10
FLEETS = ["East", "West", "North", "South"]
DRIVERS = ["Derek", "Rodney", "Albert", "Andy", "Seth", "Trish"]
VERSIONS = ["v1.0", "v1.5", "v2.0", "v2.3"]
MODELS = {"F-150": (2000.0, 200.0, 15.0), "G-2000": (5000.0, 300.0, 19.0),
          "H-2": (1500.0, 150.0, 12.0)}
TAGS = ["name", "fleet", "driver", "model", "device_version", "load_capacity", "fuel_capacity",
        "nominal_fuel_consumption"]


@dataclasses.dataclass
class Walk:
    """A clamped random walk of one value per truck."""
    name: str
    low: float
    high: float
    digits: int
    state: np.ndarray
    step: float
    normal: bool = False
    refills: bool = False  # from the lowest value to the highest

    def day(self, random, steps):
        trucks = len(self.state)
        draw = random.normal(0, self.step, (steps, trucks)) if self.normal else (
            random.uniform(-self.step, 0 if self.refills else self.step, (steps, trucks)))
        walked = np.empty((steps, trucks))
        for i in range(steps):
            walked[i] = self.state
            self.state = np.clip(self.state + draw[i], self.low, self.high)
            if self.refills:
                self.state[self.state == self.low] = self.high
        scale = 10 ** self.digits
        return np.trunc(walked * scale) / scale


@dataclasses.dataclass
class Uniform:
    """A value drawn anew for each row."""
    name: str
    high: int

    def day(self, random, shape):
        return random.integers(0, self.high, shape).astype(float)


def tags(trucks, random):
    models = random.choice(list(MODELS), trucks)
    columns = [[f"truck_{truck}" for truck in range(trucks)], random.choice(FLEETS, trucks),
               random.choice(DRIVERS, trucks), models, random.choice(VERSIONS, trucks),
               *zip(*(MODELS[model] for model in models))]
    return [pa.array(list(column)) for column in columns]


def fields(trucks, random):
    """The values of readings and of diagnostics."""
    zero, start = np.zeros(trucks), lambda high: random.uniform(0, high, trucks)
    readings = [Walk("latitude", -90, 90, 5, start(90), 0.005),
                Walk("longitude", -180, 180, 5, start(180), 0.005),
                Walk("elevation", 0, 5000, 0, start(500), 10),
                Walk("velocity", 0, 100, 0, zero, 10),
                Walk("heading", 0, 360, 0, start(360), 5),
                Walk("grade", 0, 100, 0, zero, 5),
                Walk("fuel_consumption", 0, 50, 1, zero + 25, 5)]
    diagnostics = [Walk("fuel_state", 0, 1, 1, zero + 1, 0.001, refills=True),
                   Uniform("current_load", 5000),
                   Walk("status", 0, 5, 0, zero, 1, normal=True)]
    return {"readings": readings, "diagnostics": diagnostics}


def nulls(random, share, columns, shape):
    """For each row the column that is NULL in it, or -1."""
    return np.where(random.random(shape) < share, random.integers(0, columns, shape), -1)


def day_of(table_fields, of_truck, day, random):
    """One day of one table in order of time, and the time of arrival of each row."""
    trucks, steps = len(of_truck[0]), 86400 // INTERVAL_S
    shape = (steps, trucks)
    null_tag = nulls(random, 0.01, len(TAGS), shape)
    null_field = nulls(random, 0.1, len(table_fields), shape)
    nameless = null_tag == 0
    null_tag[nameless & (np.cumsum(nameless, axis=1) > 1)] = -1
    batch = np.arange(steps * trucks) // BATCH
    fate = random.random(batch[-1] + 1)
    kept = np.flatnonzero((fate >= 0.01)[batch] & (random.random(len(batch)) >= 0.09))
    delay = np.where(fate > 0.95, random.exponential(600, len(fate)), 0)[batch[kept]]

    truck, null_tag, null_field = kept % trucks, null_tag.ravel()[kept], null_field.ravel()[kept]
    seconds = int(START.timestamp()) + day * 86400 + kept // trucks * INTERVAL_S
    columns = {"time": pa.array(seconds * 1_000_000, pa.timestamp("us", "UTC"))}
    for i, name in enumerate(TAGS):
        columns[name] = of_truck[i].take(pa.array(truck, mask=null_tag == i))
    for i, field in enumerate(table_fields):
        values = field.day(random, shape if isinstance(field, Uniform) else steps)
        columns[field.name] = pa.array(values.ravel()[kept], mask=null_field == i)
    return pa.table(columns), seconds + delay


def days(trucks, count, seed):
    """Yields (table name, Arrow table) for each day, rows as they arrive."""
    random = np.random.default_rng(seed)
    of_truck = tags(trucks, random)
    of_table = fields(trucks, random)
    waiting = {name: (None, None) for name in of_table}
    for day in range(count):
        end = int(START.timestamp()) + (day + 1) * 86400
        for name, table_fields in of_table.items():
            table, arrival = day_of(table_fields, of_truck, day, random)
            late, late_arrival = waiting[name]
            if late is not None:
                table = pa.concat_tables([late, table])
                arrival = np.concatenate([late_arrival, arrival])
            order = np.argsort(arrival, kind="stable")
            now = order if day + 1 == count else order[arrival[order] < end]
            rest = order[len(now):]
            waiting[name] = table.take(pa.array(rest)), arrival[rest]
            yield name, table.take(pa.array(now)).combine_chunks()


def write(out, trucks, count, seed=1):
    numbers = {}
    for name, table in days(trucks, count, seed):
        folder = pathlib.Path(out) / name
        folder.mkdir(parents=True, exist_ok=True)
        number = numbers[name] = numbers.get(name, -1) + 1
        pq.write_table(table, folder / f"day-{number:03}.parquet")
        print(f"{name}, day {number + 1} of {count}: {table.num_rows} rows", file=sys.stderr)


if __name__ == "__main__":
    given = dict(argument.split("=", 1) for argument in sys.argv[1:])
    write(given["out"], int(given.get("trucks", 200)), int(given.get("days", 3)),
          int(given.get("seed", 1)))
