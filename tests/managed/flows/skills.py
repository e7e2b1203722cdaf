"""Skills: upload as files or as an archive, versions, download, delete."""

import io
import zipfile

import anthropic
from loose import Loose
from refused import refused

NEW = int(anthropic.__version__.partition(".")[0]) >= 1
SKILL = b"---\nname: tidy-up\ndescription: >\n  Tidies up\n  what is there.\n---\nDo it.\n"


def flow(client: Loose) -> None:
    skills = client.beta.skills
    files = [("tidy/SKILL.md", SKILL), ("tidy/scripts/run.sh", b"echo tidy\n")]
    named = {"display_name": "Tidy"} if NEW else {"display_title": "Tidy"}
    skill = skills.create(files=files, **named)
    assert skill.type == "skill"
    title, latest, source = shape(skill)
    assert (title, source) == ("Tidy", "custom")
    version = skills.versions.retrieve(latest, skill_id=skill.id)
    assert (version.name, version.description) == ("tidy-up", "Tidies up what is there.")
    if NEW:
        assert unzipped(skills, latest, skill.id)["tidy-up/scripts/run.sh"] == b"echo tidy\n"

    newer = skills.versions.create(skill.id, files=[("tidy/SKILL.md", SKILL.replace(b"Do it", b"Do it well"))])
    assert shape(skills.retrieve(skill.id))[1] == newer.id
    assert [each.id for each in skills.versions.list(skill.id, limit=1)] == [newer.id, latest]
    if NEW:
        assert b"well" in unzipped(skills, newer.id, skill.id)["tidy-up/SKILL.md"]
    agents(client, skill, str(latest), str(newer.id))

    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("other/SKILL.md", SKILL.replace(b"tidy-up", b"from-zip"))
    other = skills.create(files=[("other.zip", zipped.getvalue())])
    assert shape(other)[0] == "from-zip"
    assert [each.id for each in skills.list(limit=1)][:2] == [other.id, skill.id]
    assert [each.id for each in skills.list(source="anthropic")] == []

    wrong = [
        [("tidy/README.md", b"no skill")],
        [("a/SKILL.md", SKILL), ("b/other.md", b"two folders")],
        [("tidy/SKILL.md", b"no front matter")],
        [("tidy/SKILL.md", SKILL), ("tidy/../../escape", b"")],
    ]
    for files in wrong:
        refused(anthropic.BadRequestError, lambda files=files: skills.create(files=files))
    assert skills.versions.delete(newer.id, skill_id=skill.id).type == "skill_version_deleted"
    assert shape(skills.retrieve(skill.id))[1] == latest
    for each in (skill, other):
        assert skills.delete(each.id).type == "skill_deleted"
    refused(anthropic.NotFoundError, lambda: skills.retrieve(skill.id))
    refused(anthropic.NotFoundError, lambda: skills.versions.retrieve(latest, skill_id=skill.id))


def agents(client: Loose, skill: Loose, first: str, latest: str) -> None:
    """An agent keeps the version that it was created with."""
    given = [{"type": "custom", "skill_id": skill.id}, {"type": "anthropic", "skill_id": "pptx", "version": "3"}]
    agent = client.beta.agents.create(name="Skilled", model="m", skills=given)
    assert [(each.type, each.version) for each in agent.skills] == [("custom", latest), ("anthropic", "3")]
    older = [{"type": "custom", "skill_id": skill.id, "version": first}]
    assert client.beta.agents.update(agent.id, version=1, skills=older).skills[0].version == first
    nobody = [{"type": "custom", "skill_id": "skill_nobody"}]
    refused(anthropic.BadRequestError, lambda: client.beta.agents.create(name="x", model="m", skills=nobody))


def shape(skill: Loose) -> tuple[object, object, object]:
    if NEW:
        return skill.display_name, skill.latest_version_id, skill.source.type
    return skill.display_title, skill.latest_version, skill.source


def unzipped(skills: Loose, version: object, skill_id: object) -> dict[str, bytes]:
    content = skills.versions.download(version, skill_id=skill_id).read()
    with zipfile.ZipFile(io.BytesIO(bytes(content))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
