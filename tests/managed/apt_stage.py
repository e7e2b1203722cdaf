"""A local package source for the real apt: no network, and no installed packages."""

import hashlib
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

PROGRAMS = ("apt-get", "dpkg-deb")
REAL = all(map(shutil.which, PROGRAMS))
LACKS = "this machine has no apt and dpkg"
_STATUS = """\
Package: libc6
Status: install ok installed
Version: 1.0
Architecture: all
Maintainer: Nobody <nobody@example.org>
Description: the machine's own

"""


class AptStage:
    """`variables` point apt to this source, without package lists yet and with a hook that must not run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._packages = folder / "packages"
        for each in ("packages", "lists/partial", "parts"):
            (folder / each).mkdir(parents=True)
        self.hooked = folder / "hooked"
        (folder / "status").write_text(_STATUS)
        (folder / "sources.list").write_text(f"deb [trusted=yes] file:{self._packages} ./\n")
        (folder / "apt.conf").write_text(
            f'Dir::Etc::sourcelist "{folder}/sources.list";\n'
            f'Dir::Etc::sourceparts "{folder}/parts";\n'
            f'Dir::State::lists "{folder}/lists";\n'
            f'Dir::State::status "{folder}/status";\n'
            f'APT::Update::Post-Invoke {{"touch {self.hooked}";}};\n'
        )
        self.variables = {"APT_CONFIG": str(folder / "apt.conf")}

    def add(
        self, name: str, version: str, files: Mapping[str, bytes | str], *, script: str = "", needs: str = ""
    ) -> None:
        """Add a package. A file that is a `str` is a link to that path. `script` is its post-install script."""
        root = self._folder / f"{name}-{version}"
        for path, content in files.items():
            place = root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str):
                place.symlink_to(content)
            else:
                place.write_bytes(content)
                place.chmod(0o755)
        control = root / "DEBIAN"
        control.mkdir(parents=True)
        lines = [f"Package: {name}", f"Version: {version}", "Architecture: all", "Description: for a test"]
        lines += ["Maintainer: Nobody <nobody@example.org>", *([f"Depends: {needs}"] if needs else [])]
        (control / "control").write_text("\n".join([*lines, ""]))
        (control / "postinst").write_text(f"#!/bin/sh\n{script}\n")
        (control / "postinst").chmod(0o755)
        made = self._packages / f"{name}_{version}_all.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "--build", root, made], check=True, capture_output=True)
        digest = hashlib.sha256(made.read_bytes()).hexdigest()
        listed = [*lines, f"Filename: ./{made.name}", f"Size: {made.stat().st_size}", f"SHA256: {digest}", "", ""]
        with (self._packages / "Packages").open("a") as index:
            index.write("\n".join(listed))


def library(folder: Path) -> tuple[bytes, bytes]:
    """A shared library, and a program that needs it, made by the machine's own compiler."""
    (folder / "greet.c").write_text('const char *greeting(void) { return "hello from a library"; }\n')
    (folder / "main.c").write_text(
        "int puts(const char *); const char *greeting(void);\nint main(void) { puts(greeting()); }\n"
    )
    built, program = folder / "libgreet.so.1", folder / "greeter"
    for argv in (
        ["cc", "-shared", "-fPIC", "-Wl,-soname,libgreet.so.1", "-o", built, folder / "greet.c"],
        ["cc", "-o", program, folder / "main.c", built],
    ):
        subprocess.run(argv, check=True, capture_output=True)
    return built.read_bytes(), program.read_bytes()
