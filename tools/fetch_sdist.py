"""Download the source archive of a PyPI package, by name, without building anything.

`pip download --no-binary` runs the package's build backend to learn its metadata, which for DuckDB means
installing compilers' worth of build requirements. This asks pip's own package finder (so the configured index,
certificates and credentials apply) for the archive, checks its SHA-256 and stores it.

    python tools/fetch_sdist.py NAME VERSION SHA256 TARGET
"""

import hashlib
import os
import sys

from pip._internal.commands import create_command
from pip._vendor.packaging.specifiers import SpecifierSet


def fetch(name: str, version: str, sha256: str, target: str) -> None:
    command = create_command("download")
    options, _ = command.parse_args([f"{name}=={version}", "--no-binary", name, "--no-deps"])
    with command.main_context():
        session = command.get_default_session(options)
        finder = command._build_package_finder(options, session)
        found = finder.find_best_candidate(name, SpecifierSet(f"=={version}")).best_candidate
        if found is None:
            sys.exit(f"fetch_sdist: the package index has no source archive of {name} {version}")
        response = session.get(found.link.url_without_fragment)
        response.raise_for_status()
    digest = hashlib.sha256(response.content).hexdigest()
    if digest != sha256:
        sys.exit(f"fetch_sdist: {found.link.filename} has SHA-256 {digest}, expected {sha256}")
    with open(target + ".part", "wb") as file:
        file.write(response.content)
    os.replace(target + ".part", target)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    fetch(*sys.argv[1:])
