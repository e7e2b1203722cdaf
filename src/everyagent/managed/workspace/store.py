"""The store of session resources. Tokens of repositories are sealed."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from everyagent.clock import rfc3339
from everyagent.errors import BadRequest, RecordExists
from everyagent.log.records import Delete, Insert, Record, RecordQuery, Records, Replace
from everyagent.managed.memory.mounts import KIND as MOUNT_KIND
from everyagent.managed.memory.mounts import mounted
from everyagent.managed.memory.paths import MOUNTS, mount_path
from everyagent.managed.memory.stores import MemoryStores
from everyagent.managed.resources.files.store import FileStore
from everyagent.managed.resources.pages import Page, page_of
from everyagent.managed.resources.record_store import Deleted, find_in
from everyagent.managed.workspace.shape import (
    MAX_MEMORY_STORES,
    MAX_RESOURCES,
    OUTPUTS,
    UPLOADS,
    WORKSPACE,
    FileParams,
    FileResource,
    MemoryStoreParams,
    MemoryStoreResource,
    RepositoryParams,
    RepositoryResource,
    Resource,
    ResourceParams,
    checked_mount,
    lies_in,
)
from everyagent.model.ids import new_id
from everyagent.sessions.launch.secrets import SecretVault

KIND = "session_resource"
Dated = TypeVar("Dated", FileResource, RepositoryResource)


class ResourceStore:
    """No two resources of a session have overlapping mount paths."""

    def __init__(self, records: Records, files: FileStore, memory_stores: MemoryStores, vault: SecretVault) -> None:
        self._records = records
        self._files = files
        self._memory_stores = memory_stores
        self._vault = vault

    async def give(self, session_id: str, asked: Sequence[ResourceParams]) -> list[Resource]:
        """Adds resources to a new session: all or none."""
        given: list[Resource] = []
        try:
            for params in asked:
                given.append(await self._add(session_id, params, given))
        except BaseException:
            await self.take_away(session_id)
            raise
        return given

    async def add(self, session_id: str, params: FileParams) -> FileResource:
        """Adds a file to an existing session."""
        others = await self.of(session_id)
        _refuse_full(others)
        return await self._add_file(session_id, params, others)

    async def _add(self, session_id: str, params: ResourceParams, others: "Sequence[Resource]") -> Resource:
        _refuse_full(others)
        match params:
            case FileParams():
                return await self._add_file(session_id, params, others)
            case RepositoryParams():
                return await self._add_repository(session_id, params, others)
            case MemoryStoreParams():
                return await self._add_memory_store(session_id, params, others)

    async def of(self, session_id: str) -> list[Resource]:
        """All resources of a session, in the order they were added."""
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
        if isinstance(resource, MemoryStoreResource):
            raise BadRequest("A session has its memory stores as long as it is there.", field="resource_id")
        owned = [Delete(kind="file", id=resource.file_id)] if isinstance(resource, FileResource) else []
        await self._records.write(Delete(kind=KIND, id=resource_id), *owned)
        return Deleted(id=resource_id, type="session_resource_deleted")

    async def take_away(self, session_id: str) -> None:
        """Deletes the resources and files of a deleted session."""
        for kind in (KIND, MOUNT_KIND, "file"):
            while page := await self._records.page(RecordQuery(kind=kind, parent=session_id, limit=500)):
                await self._records.write(*(Delete(kind=kind, id=record.id) for record in page))

    async def token(self, session_id: str, resource_id: str) -> str | None:
        record = await self._find(session_id, resource_id)
        return None if record.secret is None else self._vault.unseal(record.secret, resource_id).decode()

    async def _add_file(self, session_id: str, params: FileParams, others: "Sequence[Resource]") -> FileResource:
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

    async def _add_memory_store(
        self, session_id: str, params: MemoryStoreParams, others: "Sequence[Resource]"
    ) -> MemoryStoreResource:
        """Takes a snapshot of the store's name and description. A store can be given once."""
        store = await self._memory_stores.retrieve_active(params.memory_store_id)
        others = [each for each in others if isinstance(each, MemoryStoreResource)]
        if len(others) >= MAX_MEMORY_STORES:
            raise BadRequest(f"A session has at most {MAX_MEMORY_STORES} memory stores.", field="resources")
        if any(each.memory_store_id == store.id for each in others):
            raise BadRequest(f"The memory store {store.id} was given twice.", field="resources")
        resource = MemoryStoreResource(
            memory_store_id=store.id,
            access=params.access or "read_write",
            instructions=params.instructions,
            name=store.name,
            description=store.description,
            mount_path=mount_path(store.name, store.id, [each.mount_path for each in others]),
        )
        insert = Insert(
            kind=KIND,
            id=_memory_id(session_id, store.id),
            parent=session_id,
            key=resource.mount_path,
            body=msgspec.json.encode(resource),
        )
        await self._records.write(insert, mounted(session_id, resource))
        return resource

    async def _insert(self, session_id: str, resource: Dated, token: str | None) -> Dated:
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
        return _dated(resource, record)

    async def _find(self, session_id: str, resource_id: str) -> Record:
        """A memory store's resource id is the store's id."""
        own = _memory_id(session_id, resource_id) if resource_id.startswith("memstore_") else resource_id
        missing = f"There is no resource {resource_id!r} in the session {session_id!r}."
        return await find_in(self._records, KIND, own, session_id, missing)


def _refuse_full(others: Sequence[Resource]) -> None:
    if len(others) >= MAX_RESOURCES:
        raise BadRequest(f"A session has at most {MAX_RESOURCES} resources.", field="resources")


def _free(others: Sequence[Resource], path: str) -> str:
    """The path, if no other resource is at, above or below it."""
    mount = checked_mount(path)
    if lies_in(mount, OUTPUTS):
        raise BadRequest(f"Nothing can be mounted below {OUTPUTS}: it is the agent's.", field="mount_path")
    if lies_in(mount, MOUNTS):
        raise BadRequest(f"Nothing can be mounted below {MOUNTS}: it is for memory stores.", field="mount_path")
    if lies_in(UPLOADS, mount) or lies_in(OUTPUTS, mount):
        raise BadRequest(f"{mount} is a folder of every session: choose a path below it.", field="mount_path")
    for other in others:
        if lies_in(mount, other.mount_path) or lies_in(other.mount_path, mount):
            raise _taken(mount, other.mount_path)
    return mount


def _taken(path: str, other: str) -> BadRequest:
    where = f"at {path!r}" if path == other else f"at {path!r} and {other!r}"
    return BadRequest(f"Two resources of a session cannot lie {where}.", field="mount_path")


def _memory_id(session_id: str, store_id: str) -> str:
    return f"{session_id}.{store_id}"


def _resource(record: Record) -> Resource:
    resource = msgspec.json.decode(record.body, type=FileResource | RepositoryResource | MemoryStoreResource)
    return resource if isinstance(resource, MemoryStoreResource) else _dated(resource, record)


def _dated(resource: Dated, record: Record) -> Dated:
    return replace(resource, created_at=rfc3339(record.created_at), updated_at=rfc3339(record.updated_at))
