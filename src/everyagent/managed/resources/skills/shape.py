"""The wire types of skills: the current ones, and those for SDKs before 1.1."""

from typing import Literal

from msgspec import Struct

from everyagent.managed.field_limits import LongPageLimit


class SkillSource(Struct, frozen=True, kw_only=True):
    type: Literal["custom", "anthropic"]


class Skill(Struct, frozen=True, kw_only=True, tag="skill"):
    id: str
    display_name: str
    latest_version_id: str
    source: SkillSource
    created_at: str
    updated_at: str


class OlderSkill(Struct, frozen=True, kw_only=True, tag="skill"):
    id: str
    display_title: str
    latest_version: str | None
    source: str
    created_at: str
    updated_at: str


class SkillVersion(Struct, frozen=True, kw_only=True, tag="skill_version"):
    """`version` and `directory` are for older SDKs; `version` is the id."""

    id: str
    skill_id: str
    name: str
    description: str
    created_at: str
    version: str
    directory: str


class SkillBody(Struct, frozen=True, kw_only=True):
    display_name: str
    latest: str


class SkillVersionBody(Struct, frozen=True, kw_only=True):
    """`digest` is that of a zip archive with one top-level folder."""

    name: str
    description: str
    digest: str
    size: int


class SkillListQuery(Struct, frozen=True, kw_only=True):
    limit: LongPageLimit = 20
    page: str | None = None
    source: str | None = None
