"""The store of skills and their versions; also copies skills into session folders."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec.structs import replace

from everyagent.clock import rfc3339
from everyagent.errors import BadRequest, NotFound, RecordNotFound
from everyagent.log.records import Delete, Insert, Record, RecordQuery, Records, Replace, Uploaded
from everyagent.managed.resources.agents.shape import SkillParams
from everyagent.managed.resources.pages import Page, page_of
from everyagent.managed.resources.record_store import Deleted, find_in, retry_on_change
from everyagent.managed.resources.skills.bundle import Bundle, unpack
from everyagent.managed.resources.skills.shape import (
    Skill,
    SkillBody,
    SkillListQuery,
    SkillSource,
    SkillVersion,
    SkillVersionBody,
)
from everyagent.model.ids import new_id

KIND = "skill"
VERSION_KIND = "skill_version"


class LaidOut(msgspec.Struct, frozen=True, kw_only=True):
    """`found` has names and descriptions of installed skills; `problems` lists missing ones with the reason."""

    found: list[tuple[str, str]]
    problems: list[str]


class SkillStore:
    def __init__(self, records: Records) -> None:
        self._records = records

    async def create(self, bundle: Bundle, display_name: str | None) -> Skill:
        skill_id, version_id = new_id("skill_"), new_id("skillver_")
        body = SkillBody(display_name=display_name or bundle.name, latest=version_id)
        async with self._records.upload(_once(bundle.archive)) as uploaded:
            record, _ = await self._records.write(
                Insert(kind=KIND, id=skill_id, body=msgspec.json.encode(body)),
                _version_insert(skill_id, version_id, bundle, uploaded),
            )
        return _skill(record)

    async def retrieve(self, skill_id: str) -> Skill:
        return _skill(await self._records.find(KIND, skill_id))

    async def list(self, query: SkillListQuery) -> Page[Skill]:
        if query.source not in (None, "custom"):
            return Page(data=[])
        return await page_of(self._records, RecordQuery(kind=KIND, limit=query.limit), query.page, _skill)

    async def delete(self, skill_id: str) -> Deleted:
        await self._records.write(Delete(kind=KIND, id=skill_id))
        return Deleted(id=skill_id, type="skill_deleted")

    async def add_version(self, skill_id: str, bundle: Bundle) -> SkillVersion:
        async with self._records.upload(_once(bundle.archive)) as uploaded:
            return await self._add_version(_version_insert(skill_id, new_id("skillver_"), bundle, uploaded))

    @retry_on_change
    async def _add_version(self, version: Insert) -> SkillVersion:
        skill = await self._records.find(KIND, version.parent)
        _, record = await self._records.write(_with_latest(skill, version.id), version)
        return _version(record)

    async def version(self, skill_id: str, version_id: str) -> SkillVersion:
        return _version(await self._find_version(skill_id, version_id))

    async def versions(self, skill_id: str, *, limit: int, page: str | None) -> Page[SkillVersion]:
        await self._records.find(KIND, skill_id)
        wanted = RecordQuery(kind=VERSION_KIND, parent=skill_id, limit=limit)
        return await page_of(self._records, wanted, page, _version)

    @retry_on_change
    async def delete_version(self, skill_id: str, version_id: str) -> Deleted:
        """Makes the newest of the other versions the latest one."""
        version = await self._find_version(skill_id, version_id)
        skill = await self._records.find(KIND, skill_id)
        others = await self._records.page(RecordQuery(kind=VERSION_KIND, parent=skill_id, limit=1))
        latest = next((other.id for other in others if other.id != version.id), "")
        await self._records.write(Delete(kind=VERSION_KIND, id=version.id), _with_latest(skill, latest))
        return Deleted(id=version.id, type="skill_version_deleted")

    async def open(self, skill_id: str, version_id: str) -> tuple[SkillVersion, int, BinaryIO]:
        """A version, the size of its zip archive, and the open archive."""
        record = await self._find_version(skill_id, version_id)
        body = _version_body(record)
        return _version(record), body.size, await self._records.blob(bytes.fromhex(body.digest))

    async def pinned(self, asked: Sequence[SkillParams]) -> "list[SkillParams]":
        """Fixes the versions of skills. Anthropic's own skills stay as requested."""
        pinned: list[SkillParams] = []
        for skill in asked:
            if skill.type == "anthropic":
                pinned.append(replace(skill, version=skill.version or "latest"))
                continue
            try:
                version = await self.version(skill.skill_id, skill.version or "latest")
            except NotFound as error:
                raise BadRequest(error.detail, field="skills", error_code="skill_not_found") from None
            pinned.append(replace(skill, version=version.id))
        return pinned

    async def lay_out(self, skills: Sequence[SkillParams], folders: Sequence[Path]) -> LaidOut:
        """Copies each skill into each folder, unless it is there already."""
        found: list[tuple[str, str]] = []
        problems: list[str] = []
        for skill in skills:
            if skill.type == "anthropic":
                problems.append(f"the skill {skill.skill_id} is Anthropic's own: it cannot be had here")
                continue
            try:
                version, _, content = await self.open(skill.skill_id, skill.version or "latest")
            except NotFound as error:
                problems.append(error.detail)
                continue
            try:
                await asyncio.to_thread(_lay_out, content, [folder / version.name for folder in folders])
            except OSError as error:
                problems.append(f"the skill {version.name} could not be laid out: {error.strerror}")
                continue
            found.append((version.name, version.description))
        return LaidOut(found=found, problems=problems)

    async def _find_version(self, skill_id: str, version_id: str) -> Record:
        if version_id == "latest":
            version_id = (await self.retrieve(skill_id)).latest_version_id
            if not version_id:
                raise NotFound(f"The skill {skill_id!r} has no version: all were deleted.")
        missing = f"The skill {skill_id!r} has no version {version_id!r}."
        try:
            return await find_in(self._records, VERSION_KIND, version_id, skill_id, missing)
        except RecordNotFound:
            raise NotFound(missing) from None


def _lay_out(content: BinaryIO, places: Sequence[Path]) -> None:
    with content:
        archive = content.read()
    for place in places:
        if place.exists():
            continue
        draft = place.with_name(f".{place.name}.draft")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        unpack(archive, draft)
        draft.rename(place)


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


def _version_insert(skill_id: str, version_id: str, bundle: Bundle, uploaded: Uploaded) -> Insert:
    body = SkillVersionBody(
        name=bundle.name, description=bundle.description, digest=uploaded.digest.hex(), size=uploaded.size
    )
    return Insert(kind=VERSION_KIND, id=version_id, parent=skill_id, body=msgspec.json.encode(body), uploads=[uploaded])


def _with_latest(skill: Record, version_id: str) -> Replace:
    body = replace(msgspec.json.decode(skill.body, type=SkillBody), latest=version_id)
    return Replace(kind=KIND, id=skill.id, version=skill.version, body=msgspec.json.encode(body))


def _skill(record: Record) -> Skill:
    body = msgspec.json.decode(record.body, type=SkillBody)
    return Skill(
        id=record.id,
        display_name=body.display_name,
        latest_version_id=body.latest,
        source=SkillSource(type="custom"),
        created_at=rfc3339(record.created_at),
        updated_at=rfc3339(record.updated_at),
    )


def _version_body(record: Record) -> SkillVersionBody:
    return msgspec.json.decode(record.body, type=SkillVersionBody)


def _version(record: Record) -> SkillVersion:
    body = _version_body(record)
    return SkillVersion(
        id=record.id,
        skill_id=record.parent,
        name=body.name,
        description=body.description,
        created_at=rfc3339(record.created_at),
        version=record.id,
        directory=body.name,
    )
