"""Routes of skills: uploaded as files of one folder, downloaded as a zip archive."""

from typing import TypeVar

from msgspec import Struct

from everyagent.api.managed.multipart import MultipartForm
from everyagent.api.request_decoding import header
from everyagent.api.routing import Call, Nothing, Routes, Upload
from everyagent.api.streaming import Download
from everyagent.errors import BadRequest, NotFound
from everyagent.managed.field_limits import LongPageLimit
from everyagent.managed.resources.files.store import pieces_of
from everyagent.managed.resources.pages import Page
from everyagent.managed.resources.record_store import Deleted
from everyagent.managed.resources.skills.bundle import MAX_BYTES, MAX_FILES, Bundle, packed, too_large
from everyagent.managed.resources.skills.shape import OlderSkill, Skill, SkillListQuery, SkillVersion

routes = Routes("managed skills")
_SKILL = "/anthropic/v1/skills/{skill_id}"
_VERSION = _SKILL + "/versions/{version}"
_FORM = ("multipart/form-data",)
#: The beta header of SDKs that use the older wire types of skills.
_OLDER = "skills-2025-10-02"
Q = TypeVar("Q")
B = TypeVar("B")


class SkillVersionsQuery(Struct, frozen=True, kw_only=True):
    limit: LongPageLimit = 20
    page: str | None = None


@routes.add("POST", "/anthropic/v1/skills", takes=_FORM)
async def create_skill(call: Call[Nothing, Upload]) -> Skill | OlderSkill:
    """Upload a skill: parts `files[]` with paths below one folder, and a `display_name`."""
    bundle, display_name = await _bundle(call)
    return _shaped(call, await call.managed.skills.create(bundle, display_name))


@routes.add("GET", "/anthropic/v1/skills")
async def list_skills(call: Call[SkillListQuery, Nothing]) -> Page[Skill] | Page[OlderSkill]:
    """List skills, newest first."""
    found = await call.managed.skills.list(call.query)
    if not _is_older(call):
        return found
    return Page(data=[_older(skill) for skill in found.data], next_page=found.next_page)


@routes.add("GET", _SKILL, NotFound)
async def retrieve_skill(call: Call[Nothing, Nothing]) -> Skill | OlderSkill:
    """A skill."""
    return _shaped(call, await call.managed.skills.retrieve(call.path["skill_id"]))


@routes.add("DELETE", _SKILL, NotFound)
async def delete_skill(call: Call[Nothing, Nothing]) -> Deleted:
    """Delete a skill with all its versions. Existing sessions keep it."""
    return await call.managed.skills.delete(call.path["skill_id"])


@routes.add("POST", _SKILL + "/versions", NotFound, takes=_FORM)
async def create_skill_version(call: Call[Nothing, Upload]) -> SkillVersion:
    """Upload a new version, which becomes the latest."""
    bundle, _ = await _bundle(call)
    return await call.managed.skills.add_version(call.path["skill_id"], bundle)


@routes.add("GET", _SKILL + "/versions", NotFound)
async def list_skill_versions(call: Call[SkillVersionsQuery, Nothing]) -> Page[SkillVersion]:
    """List the versions of a skill, newest first."""
    query = call.query
    return await call.managed.skills.versions(call.path["skill_id"], limit=query.limit, page=query.page)


@routes.add("GET", _VERSION, NotFound)
async def retrieve_skill_version(call: Call[Nothing, Nothing]) -> SkillVersion:
    """A version, or `latest`."""
    return await call.managed.skills.version(call.path["skill_id"], call.path["version"])


@routes.add("DELETE", _VERSION, NotFound)
async def delete_skill_version(call: Call[Nothing, Nothing]) -> Deleted:
    """Delete a version."""
    return await call.managed.skills.delete_version(call.path["skill_id"], call.path["version"])


@routes.add("GET", _VERSION + "/content", NotFound, media=("application/zip",))
async def download_skill_version(call: Call[Nothing, Nothing]) -> Download:
    """A version's files, as a zip archive."""
    version, size, content = await call.managed.skills.open(call.path["skill_id"], call.path["version"])
    return Download(pieces_of(content), "application/zip", filename=f"{version.name}.zip", size=size)


async def _bundle(call: Call[Nothing, Upload]) -> tuple[Bundle, str | None]:
    files: dict[str, bytes] = {}
    display_name: str | None = None
    size = 0
    async for part in MultipartForm(call.scope, call.body.pieces):
        if part.name in ("files[]", "files"):
            held = bytearray()
            async for piece in part.pieces:
                held += piece
                if size + len(held) > MAX_BYTES:
                    raise too_large()
            size += len(held)
            files[part.filename or ""] = bytes(held)
            if len(files) > MAX_FILES:
                raise too_large()
        elif part.name in ("display_name", "display_title"):
            display_name = await part.text() or None
    if not files:
        raise BadRequest("The form has no parts `files[]`.", field="files")
    if display_name is not None and (len(display_name) > 255 or len(display_name.splitlines()) > 1):
        raise BadRequest("`display_name` is one line of at most 255 characters.", field="display_name")
    return packed(files), display_name


def _is_older(call: Call[Q, B]) -> bool:
    return _OLDER in (header(call.scope, b"anthropic-beta") or "")


def _shaped(call: Call[Q, B], skill: Skill) -> Skill | OlderSkill:
    return _older(skill) if _is_older(call) else skill


def _older(skill: Skill) -> OlderSkill:
    return OlderSkill(
        id=skill.id,
        display_title=skill.display_name,
        latest_version=skill.latest_version_id or None,
        source=skill.source.type,
        created_at=skill.created_at,
        updated_at=skill.updated_at,
    )
