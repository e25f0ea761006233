"""The data of each section: what is generated, and how it goes into tables."""

import dataclasses
import json
import shutil

import generate
import generate_iot
import generate_more

SCALES = ("hosts", "days", "trucks", "files", "wide-rows", "wide-series")
LATE_SHARES = (0, 1, 20)  # percent
LATE_FILES = 5
FILES_HOSTS = 100


@dataclasses.dataclass
class Table:
    name: str
    key: str
    parts: list            # folders below data/, appended in this order
    slice: int = 0         # rows of one append; 0: a file each
    maintain: bool = True  # as the client does by default after an append


def name_of(section, number):
    """Of the section's folder: data of another scale never mixes."""
    return {"cpu": "cpu-{hosts}x{days}", "iot": "iot-{trucks}x{days}",
            "late": "late-{hosts}x{days}", "files": "files-{files}",
            "wide": "wide-{wide-rows}x{wide-series}"}[section].format(**number)


def tables(section):
    if section == "cpu":
        return [Table("cpu", "hostname", ["cpu"])]
    if section == "iot":
        return [Table(name, "name", [name]) for name in ("readings", "diagnostics")]
    if section == "late":
        return [Table(f"late{share}", "hostname", ["cpu", f"late{share}"], maintain=False)
                for share in LATE_SHARES]
    if section == "files":
        rows = FILES_HOSTS * generate_more.FILE_STEPS
        return [Table("files", "hostname", ["files"], slice=rows, maintain=False)]
    return [Table("wide", "device", ["wide"], maintain=False)]


def write(section, data, number):
    if section == "cpu":
        generate.write(data / "cpu", number["hosts"], number["days"])
    elif section == "iot":
        generate_iot.write(data, number["trucks"], number["days"])
    elif section == "late":
        generate.write(data / "cpu", number["hosts"], number["days"])
        for share in LATE_SHARES[1:]:
            generate_more.write_late(data / f"late{share}", data / "cpu", share / 100, LATE_FILES)
    elif section == "files":
        generate_more.write_files(data / "files", FILES_HOSTS, number["files"])
    else:
        generate_more.write_wide(data / "wide", number["wide-rows"], number["wide-series"])


def prepare(section, work, options):
    """The section's folder with its data and tables.json."""
    number = {name: int(options[name]) for name in SCALES}
    folder = work / name_of(section, number)
    if not (folder / "tables.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        write(section, folder / "data", number)
        specs = [dataclasses.asdict(table) for table in tables(section)]
        (folder / "tables.json").write_text(json.dumps(specs, indent=1) + "\n")
    return folder
