"""Checks and packs the files of a skill: one folder with a SKILL.md."""

import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from msgspec import Struct

from everyagent.errors import BadRequest, TooLarge

MAX_BYTES = 30 << 20
MAX_FILES = 500
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_FIELD = re.compile(r"^(?P<name>[A-Za-z_-]+):[ \t]*(?P<value>.*)$")
#: Extra files that macOS puts into archives.
_NOISE = "__MACOSX/"
_UNREADABLE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError, EOFError, OSError)
_EPOCH = (1980, 1, 1, 0, 0, 0)


class Bundle(Struct, frozen=True, kw_only=True):
    name: str
    description: str
    archive: bytes


def packed(files: Mapping[str, bytes]) -> Bundle:
    """Packs files into a zip archive; the same files give the same bytes. A single zip archive is unpacked first."""
    if len(files) == 1 and next(iter(files)).endswith(".zip"):
        files = _unzipped(next(iter(files.values())))
    if "SKILL.md" in files:  # older SDKs send the names of a version's files without their folder
        files = {str(PurePosixPath("skill", path)): content for path, content in files.items()}
    paths = {_checked(path): content for path, content in files.items()}
    if below := sorted({*paths} & {parent for path in paths for parent in path.parents}):
        raise BadRequest(f"{str(below[0])!r} cannot be a file and a folder.", field="files")
    tops = {path.parts[0] for path in paths}
    if len(tops) != 1 or PurePosixPath(*tops, "SKILL.md") not in paths:
        raise BadRequest("The files of a skill lie in one folder, with a SKILL.md directly in it.", field="files")
    fields = front_matter(paths[PurePosixPath(*tops, "SKILL.md")])
    name, description = fields.get("name", ""), fields.get("description", "")
    if not _NAME.fullmatch(name):
        raise BadRequest("SKILL.md needs a `name` of small letters, digits and hyphens, 64 at most.", field="files")
    if not 1 <= len(description) <= 1024:
        raise BadRequest("SKILL.md needs a `description` of at most 1024 characters.", field="files")
    return Bundle(name=name, description=description, archive=_zipped(name, paths))


def unpack(archive: bytes, folder: Path) -> None:
    """Unpacks the archive's only top-level folder as `folder`, which must not exist."""
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        for member in packed.infolist():
            target = folder.joinpath(*PurePosixPath(member.filename).parts[1:])
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(packed.read(member))


def front_matter(content: bytes) -> dict[str, str]:
    """Parses the fields between the first two `---`: plain, quoted, or continued on indented lines."""
    lines = content.decode("utf-8-sig", "replace").splitlines()
    if not lines or lines[0].strip() != "---":
        return {}
    fields: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in lines[1:]:
        if line.strip() == "---":
            break
        if found := _FIELD.match(line):
            value = found["value"].strip()
            current = fields[found["name"]] = [] if value in ("|", ">", "|-", ">-", "") else [value]
        elif current is not None and line.startswith((" ", "\t")):
            current.append(line.strip())
    return {name: _unquoted(" ".join(part for part in parts if part)) for name, parts in fields.items()}


def _unquoted(value: str) -> str:
    quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def _checked(path: str) -> PurePosixPath:
    pure = PurePosixPath(path.replace("\\", "/"))
    wrong = pure.is_absolute() or ".." in pure.parts or len(pure.parts) < 2 or any(ord(char) < 32 for char in path)
    if wrong or len(path) > 500 or any(len(part.encode()) > 255 for part in pure.parts):
        raise BadRequest(f"{path[:100]!r} is no path inside of a skill's folder.", field="files")
    return pure


def _zipped(name: str, paths: Mapping[PurePosixPath, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(paths):
            member = zipfile.ZipInfo(str(PurePosixPath(name, *path.parts[1:])), _EPOCH)
            member.external_attr = 0o644 << 16
            archive.writestr(member, paths[path], zipfile.ZIP_DEFLATED)
    return held.getvalue()


def _unzipped(content: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            members = [member for member in members if not member.filename.startswith(_NOISE)]
            if len(members) > MAX_FILES or sum(member.file_size for member in members) > MAX_BYTES:
                raise too_large()
            return {member.filename: archive.read(member) for member in members}
    except _UNREADABLE as error:
        raise BadRequest(f"The zip archive cannot be read: {error}.", field="files") from None


def too_large() -> TooLarge:
    return TooLarge(f"A skill has at most {MAX_FILES} files and {MAX_BYTES >> 20} MiB.", limit=MAX_BYTES)
