"""An image for podman, made of this machine's files: a shell, some programs, and the system's Python."""

import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterable
from pathlib import Path

_PROGRAMS = (
    *("sh", "bash", "cat", "ls", "env", "id", "sleep", "true", "git", "setsid", "mkdir", "rm", "ps", "unshare"),
    *("mount", "umount", "nsenter", "chroot", "python3"),
)
_FOLDERS = ("usr", "usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "etc", "home", "root", "var", "tmp", "var/tmp")
_LIBRARY = re.compile(r"(/\S+) \(0x")


def write_image(path: Path) -> None:
    """A file for `podman import`."""
    with tarfile.open(path, "w") as image:
        for name in ("bin", "sbin", "lib", "lib64"):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, f"usr/{name}"
            image.addfile(link)
        for name in _FOLDERS:
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name.endswith("tmp") else 0o755
            image.addfile(folder)
        for inside, file in sorted(_files().items()):
            image.add(file, inside.lstrip("/"), recursive=False)


def _files() -> dict[str, str]:
    """The real file for each path in the image. Its programs and libraries are all below /usr."""
    found = [path for name in _PROGRAMS if (path := shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin"))]
    standard = [*_standard_library()]
    extensions = [path for path in standard if path.endswith(".so")]
    every = {*found, *standard, *_libraries([*found, *extensions])}
    return {(path if path.startswith("/usr/") else f"/usr{path}"): os.path.realpath(path) for path in every}


def _libraries(programs: Iterable[str]) -> list[str]:
    return _LIBRARY.findall(subprocess.run(["ldd", *programs], capture_output=True, text=True).stdout)


def _standard_library() -> Iterable[str]:
    for root in Path("/usr/lib").glob("python3.*"):
        for folder, below, names in os.walk(root):
            below[:] = [name for name in below if name not in ("test", "__pycache__", "idlelib", "lib2to3", "tkinter")]
            yield from (path for name in names if os.path.isfile(path := os.path.join(folder, name)))
