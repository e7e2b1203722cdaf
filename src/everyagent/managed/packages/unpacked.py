"""Makes Debian packages work that are unpacked below a folder instead of `/`."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

_LIBRARIES = ("usr/lib/*-linux-*", "lib/*-linux-*", "usr/lib", "lib")
#: The variables by which programs find things, and where packages put them. A file stands for
#: its folder, where that is the only one looked into: a package that merely adds to it must not hide the machine's own.
_FOUND_BY: dict[str, Sequence[str]] = {
    "PATH": ("usr/bin", "bin", "usr/games", "usr/sbin", "sbin", "usr/lib/jvm/*/bin"),
    "LD_LIBRARY_PATH": _LIBRARIES,
    "LIBRARY_PATH": _LIBRARIES,
    "CPATH": ("usr/include", "usr/include/*-linux-*"),
    "PKG_CONFIG_PATH": ("usr/lib/*-linux-*/pkgconfig", "usr/lib/pkgconfig", "usr/share/pkgconfig"),
    "CMAKE_PREFIX_PATH": ("usr",),
    "PERL5LIB": ("usr/share/perl5", "usr/lib/*-linux-*/perl5/*", "usr/share/perl/*", "usr/lib/*-linux-*/perl/*"),
    "PYTHONPATH": ("usr/lib/python3/dist-packages",),
    "RUBYLIB": ("usr/lib/ruby/vendor_ruby",),
    "XDG_DATA_DIRS": ("usr/share",),
    "GIT_EXEC_PATH": ("usr/lib/git-core/git",),
    "TESSDATA_PREFIX": ("usr/share/tesseract-ocr/*/tessdata/osd.traineddata",),
}
#: The folders that programs search while the variable is not set.
_DEFAULTS = {"XDG_DATA_DIRS": ("/usr/local/share", "/usr/share")}
_PLACE = re.compile(rb"^(\w+=)(?=/usr\b)", re.MULTILINE)
#: The literal link, name and path in a call of `update-alternatives`.
_ALTERNATIVE = re.compile(rb"--(?:install|slave)[\\\s]+(/[\w./+-]+)[\\\s]+[\w.+-]+[\\\s]+(/[\w./+-]+)")


def settle(root: Path, scripts: Iterable[bytes]) -> None:
    """Points links and `pkg-config` files to the folder instead of `/`.

    The packages' `scripts` do not run; their alternatives are read, such as `vi` for `vim.basic`.
    """
    for folder, folders, files in os.walk(root):
        for path in (Path(folder, name) for name in (*folders, *files)):
            if path.is_symlink():
                _turn(path, root)
            elif path.suffix == ".pc" and path.is_file():
                path.write_bytes(_PLACE.sub(lambda found: found[1] + os.fsencode(root), path.read_bytes()))
    for link, path in (found for script in scripts for found in _ALTERNATIVE.findall(script)):
        _choose(root / os.fsdecode(link)[1:], root / os.fsdecode(path)[1:], root)


def _choose(link: Path, path: Path, root: Path) -> None:
    """Links the first alternative; nothing is written outside of the root."""
    if path.exists() and not os.path.lexists(link) and link.parent.resolve().is_relative_to(root.resolve()):
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path)


def _turn(link: Path, root: Path) -> None:
    """A link may also lead to a library of the machine that was not fetched."""
    meant = os.path.normpath(Path("/", link.parent.relative_to(root), link.readlink()))
    here = root / meant.lstrip("/")
    link.unlink()
    link.symlink_to(here if os.path.lexists(here) else meant)


def variables(root: Path) -> dict[str, str]:
    """The variables for a session, without its own `PATH`."""
    places = {
        name: [str(found) for each in where for found in _folders(root, each)] for name, where in _FOUND_BY.items()
    }
    places["LD_LIBRARY_PATH"] += [str(folder) for folder in _named_libraries(root)]
    return {name: os.pathsep.join([*found, *_DEFAULTS.get(name, ())]) for name, found in places.items() if found}


def _folders(root: Path, pattern: str) -> list[Path]:
    return sorted(path if path.is_dir() else path.parent for path in root.glob(pattern))


def _named_libraries(root: Path) -> Iterator[Path]:
    """Library folders from `ld.so.conf.d`."""
    for config in sorted((root / "etc/ld.so.conf.d").glob("*.conf")):
        for line in config.read_text(errors="replace").splitlines():
            folder = root / line.strip().lstrip("/")
            if line.startswith("/") and folder.is_dir():
                yield folder
