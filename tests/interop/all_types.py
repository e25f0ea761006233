"""One table of every type with awkward values, and a common form of rows to compare readers in."""

import datetime
import decimal
import math
import re
import uuid

import pyarrow as pa

UTC = datetime.timezone.utc
D = decimal.Decimal

COLUMNS = ("time:timestamptz, device:string, b:boolean, i:int, l:long, f:float, d:double, dec9:decimal(9,2), "
           "dec18:decimal(18,4), dec38:decimal(38,10), dt:date, tm:time, ts:timestamp, s:string, u:uuid, "
           "fx:fixed(4), bin:binary, li:list<int>, st:struct<x:int,y:string>, mp:map<string,double>")

SCHEMA = pa.schema([
    ("time", pa.timestamp("us", "UTC")), ("device", pa.string()), ("b", pa.bool_()), ("i", pa.int32()),
    ("l", pa.int64()), ("f", pa.float32()), ("d", pa.float64()), ("dec9", pa.decimal128(9, 2)),
    ("dec18", pa.decimal128(18, 4)), ("dec38", pa.decimal128(38, 10)), ("dt", pa.date32()),
    ("tm", pa.time64("us")), ("ts", pa.timestamp("us")), ("s", pa.string()), ("u", pa.uuid()),
    ("fx", pa.binary(4)), ("bin", pa.binary()), ("li", pa.list_(pa.int32())),
    ("st", pa.struct([("x", pa.int32()), ("y", pa.string())])), ("mp", pa.map_(pa.string(), pa.float64())),
])


def instant(*parts):
    return datetime.datetime(*parts, tzinfo=UTC)


def rows():
    full = dict(
        time=instant(2024, 2, 29, 23, 59, 59, 999999), device="a", b=True, i=-2**31, l=2**63 - 1, f=1.5, d=-0.0,
        dec9=D("-327.68"), dec18=D("12345678901234.5678"), dec38=D("-1234567890123456789012345678.0123456789"),
        dt=datetime.date(1969, 12, 31), tm=datetime.time(23, 59, 59, 999999),
        ts=datetime.datetime(1900, 1, 1, 0, 0, 0, 1), s="El cliente pidi\u00f3 \u2014 hoy \U0001f600",
        u=uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7"), fx=b"\x00\x01\xff\x7f", bin=b"\x00\xff\x80",
        li=[1, None, -3], st={"x": 7, "y": "z"}, mp=[("k", 1.25), ("\u00e9", None)])
    nulls = {name: None for name in SCHEMA.names} | dict(time=instant(1970, 1, 1), device="a")
    nan = full | dict(time=instant(1969, 12, 31, 23, 59, 59, 999999), device=None, f=math.nan, d=math.nan,
                      i=2**31 - 1, l=-2**63, dec9=D("0.00"), s="", bin=b"", li=[], mp=[], b=False,
                      st={"x": None, "y": None}, u=uuid.UUID(int=2**128 - 1), dec38=D("0.0000000001"))
    far = full | dict(time=instant(1900, 1, 1, 5), device="caf\u00e9", f=math.inf, d=5e-324,
                      dt=datetime.date(2100, 2, 28), s="A" * 15 + "\u2022 x", u=uuid.UUID(int=0))
    return [full, nulls, nan, far]


def table(columns=None):
    data = rows()
    arrays = []
    for field in SCHEMA:
        values = [row[field.name] for row in data]
        if field.name == "u":
            arrays.append(pa.array([v and v.bytes for v in values], pa.binary(16)).cast(field.type))
        else:
            arrays.append(pa.array(values, field.type))
    whole = pa.Table.from_arrays(arrays, schema=SCHEMA)
    return whole.select(columns) if columns else whole


def plain(value):
    """A value in one spelling, whichever engine it comes from."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0 if value else repr(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, uuid.UUID):
        return value.bytes.hex()
    if isinstance(value, datetime.datetime):
        return value.astimezone(UTC).isoformat() if value.tzinfo else value.isoformat()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return format(value.normalize(decimal.Context(prec=60)), "f")
    if isinstance(value, str) and re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", value):
        return value.replace("-", "")  # some engines give a UUID as text
    if isinstance(value, dict):
        return sorted(((str(k), plain(v)) for k, v in value.items()), key=str)
    if isinstance(value, list):
        if value and all(isinstance(item, tuple) and len(item) == 2 for item in value):
            return sorted(((str(k), plain(v)) for k, v in value), key=str)
        return [plain(item) for item in value]
    return value


def plain_rows(data, columns=None):
    names = columns or SCHEMA.names
    return sorted(([plain(row[name]) for name in names] for row in data), key=repr)


def expected(columns=None):
    return plain_rows(rows(), columns)
