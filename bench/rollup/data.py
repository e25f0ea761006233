"""Rows of the rollup benchmark: sensors of a plant in order of arrival, each value near the one before, one decimal."""

import numpy as np
import pyarrow as pa

START_US = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
HOUR_US = 3_600_000_000


def batch(tags, step_s, first_hour, hours, seed):
    """Of all tags, every step_s seconds of the hours [first_hour, first_hour + hours)."""
    random = np.random.default_rng(seed)
    steps = hours * 3600 // step_s
    names = pa.array([f"tag{i:04}" for i in range(tags)])
    moments = START_US + first_hour * HOUR_US + np.arange(steps, dtype=np.int64) * step_s * 1_000_000
    values = 50 + np.cumsum(random.normal(0, 0.1, (steps, tags)), axis=0)
    return pa.table({"time": pa.array(np.repeat(moments, tags)).cast(pa.timestamp("us", "UTC")),
                     "tag": names.take(pa.array(np.tile(np.arange(tags), steps))),
                     "value": np.round(values, 1).reshape(steps * tags)})
