"""The resources of sessions, as they are kept: each session's own, with tokens sealed."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from everyagent.clock import rfc3339
from everyagent.errors import BadRequest, NotFound, RecordExists
from everyagent.log.records import Delete, Insert, Record, RecordQuery, Records, Replace
from everyagent.managed.environment import Deleted
from everyagent.managed.files import Files
from everyagent.managed.pages import Page, page_of
from everyagent.managed.resource import (
    MAX_RESOURCES,
    OUTPUTS,
    UPLOADS,
    WORKSPACE,
    FileParams,
    FileResource,
    RepositoryParams,
    RepositoryResource,
    Resource,
    ResourceParams,
    checked_mount,
    lies_in,
)
from everyagent.model.ids import new_id
from everyagent.sessions.secrets import Vault

KIND = "session_resource"


class Resources:
    """Two resources of a session never lie at the same place."""

    def __init__(self, records: Records, files: Files, vault: Vault) -> None:
        self._records = records
        self._files = files
        self._vault = vault

    async def give(self, session_id: str, asked: Sequence[ResourceParams]) -> list[Resource]:
        """All of them to a new session, or none."""
        given: list[Resource] = []
        try:
            for params in asked:
                given.append(await self._add(session_id, params, given))
        except BaseException:
            await self.take_away(session_id)
            raise
        return given

    async def add(self, session_id: str, params: ResourceParams) -> Resource:
        return await self._add(session_id, params, await self.of(session_id))

    async def _add(self, session_id: str, params: ResourceParams, others: "Sequence[Resource]") -> Resource:
        if len(others) >= MAX_RESOURCES:
            raise BadRequest(f"A session has at most {MAX_RESOURCES} resources.", field="resources")
        match params:
            case FileParams():
                return await self._add_file(session_id, params, others)
            case RepositoryParams():
                return await self._add_repository(session_id, params, others)
            case _:
                raise BadRequest("There are no memory stores here: give files instead.", field="resources")

    async def of(self, session_id: str) -> list[Resource]:
        """In the order they were given."""
        wanted = RecordQuery(kind=KIND, parent=session_id, order="asc", limit=MAX_RESOURCES)
        return [_resource(record) for record in await self._records.page(wanted)]

    async def list(self, session_id: str, *, limit: int, page: str | None) -> Page[Resource]:
        wanted = RecordQuery(kind=KIND, parent=session_id, order="asc", limit=limit)
        return await page_of(self._records, wanted, page, _resource)

    async def retrieve(self, session_id: str, resource_id: str) -> Resource:
        return _resource(await self._find(session_id, resource_id))

    async def change_token(self, session_id: str, resource_id: str, token: str) -> Resource:
        record = await self._find(session_id, resource_id)
        if not isinstance(_resource(record), RepositoryResource):
            raise BadRequest("Only a repository has an `authorization_token`.", field="authorization_token")
        (record,) = await self._records.write(
            Replace(
                kind=KIND,
                id=resource_id,
                version=record.version,
                body=record.body,
                secret=self._vault.seal(token.encode(), resource_id),
            )
        )
        return _resource(record)

    async def delete(self, session_id: str, resource_id: str) -> Deleted:
        resource = await self.retrieve(session_id, resource_id)
        owned = [Delete(kind="file", id=resource.file_id)] if isinstance(resource, FileResource) else []
        await self._records.write(Delete(kind=KIND, id=resource_id), *owned)
        return Deleted(id=resource_id, type="session_resource_deleted")

    async def take_away(self, session_id: str) -> None:
        """Everything of a session that is gone: its resources and its files."""
        for kind in (KIND, "file"):
            while page := await self._records.page(RecordQuery(kind=kind, parent=session_id, limit=500)):
                await self._records.write(*(Delete(kind=kind, id=record.id) for record in page))

    async def token(self, session_id: str, resource_id: str) -> str | None:
        record = await self._find(session_id, resource_id)
        return None if record.secret is None else self._vault.unseal(record.secret, resource_id).decode()

    async def _add_file(self, session_id: str, params: FileParams, others: "Sequence[Resource]") -> Resource:
        mount = _free(others, params.mount_path or f"{UPLOADS}/{params.file_id}")
        file = await self._files.copy(params.file_id, session_id)
        resource = FileResource(id=new_id("sesrsc_"), file_id=file.id, mount_path=mount, created_at="", updated_at="")
        return await self._insert(session_id, resource, None)

    async def _add_repository(
        self, session_id: str, params: RepositoryParams, others: "Sequence[Resource]"
    ) -> Resource:
        name = PurePosixPath(urlsplit(params.url).path).name.removesuffix(".git")
        resource = RepositoryResource(
            id=new_id("sesrsc_"),
            url=params.url,
            mount_path=_free(others, params.mount_path or f"{WORKSPACE}/{name}"),
            checkout=params.checkout,
            created_at="",
            updated_at="",
        )
        return await self._insert(session_id, resource, params.authorization_token)

    async def _insert(self, session_id: str, resource: Resource, token: str | None) -> Resource:
        try:
            (record,) = await self._records.write(
                Insert(
                    kind=KIND,
                    id=resource.id,
                    parent=session_id,
                    key=resource.mount_path,
                    body=msgspec.json.encode(resource),
                    secret=None if token is None else self._vault.seal(token.encode(), resource.id),
                )
            )
        except RecordExists:
            raise _taken(resource.mount_path, resource.mount_path) from None
        return _resource(record)

    async def _find(self, session_id: str, resource_id: str) -> Record:
        record = await self._records.find(KIND, resource_id)
        if record.parent != session_id:
            raise NotFound(f"There is no resource {resource_id!r} in the session {session_id!r}.")
        return record


def _free(others: Sequence[Resource], path: str) -> str:
    """The path, if nothing else lies there, above or below."""
    mount = checked_mount(path)
    if lies_in(mount, OUTPUTS):
        raise BadRequest(f"Nothing can be mounted below {OUTPUTS}: it is the agent's.", field="mount_path")
    if lies_in(UPLOADS, mount) or lies_in(OUTPUTS, mount):
        raise BadRequest(f"{mount} is a folder of every session: choose a path below it.", field="mount_path")
    for other in others:
        if lies_in(mount, other.mount_path) or lies_in(other.mount_path, mount):
            raise _taken(mount, other.mount_path)
    return mount


def _taken(path: str, other: str) -> BadRequest:
    where = f"at {path!r}" if path == other else f"at {path!r} and {other!r}"
    return BadRequest(f"Two resources of a session cannot lie {where}.", field="mount_path")


def _resource(record: Record) -> Resource:
    resource = msgspec.json.decode(record.body, type=FileResource | RepositoryResource)
    return replace(resource, created_at=rfc3339(record.created_at), updated_at=rfc3339(record.updated_at))
