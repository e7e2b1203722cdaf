// Memory stores, as the npm SDK uses them.
import assert from "node:assert/strict";
import { all, refused } from "./refused.mjs";

export default async function flow(client, { Anthropic }) {
  const { BadRequestError, ConflictError, NotFoundError } = Anthropic;
  const stores = client.beta.memoryStores;
  const store = await stores.create({ name: "Node's notes", metadata: { user: "node" } });
  assert.deepEqual([store.type, store.description, store.archived_at], ["memory_store", "", null]);
  assert.equal((await stores.update(store.id, { description: "Notes." })).description, "Notes.");
  assert.equal((await stores.retrieve(store.id)).description, "Notes.");
  assert.ok((await all(stores.list({ limit: 1 }))).some((each) => each.id === store.id));
  const there = { memory_store_id: store.id };

  const { memories, memoryVersions } = stores;
  const made = await memories.create(store.id, { path: "/a/b.md", content: "first", view: "full" });
  assert.equal(made.content, "first");
  const taken = await refused(ConflictError, () => memories.create(store.id, { path: "/a", content: "" }));
  assert.equal(taken.error.error.type, "memory_path_conflict_error");
  const precondition = { type: "content_sha256", content_sha256: made.content_sha256 };
  const changed = await memories.update(made.id, { ...there, content: "second", precondition });
  assert.equal((await memories.retrieve(made.id, there)).content, "second");
  await refused(ConflictError, () => memories.update(made.id, { ...there, content: "third", precondition }));
  const listed = await all(memories.list(store.id, { path_prefix: "/", depth: 1 }));
  assert.deepEqual(listed, [{ type: "memory_prefix", path: "/a/" }]);

  const versions = await all(memoryVersions.list(store.id, { limit: 1 }));
  assert.deepEqual(versions.map((each) => each.operation), ["modified", "created"]);
  assert.equal((await memoryVersions.retrieve(made.memory_version_id, there)).content, "first");
  assert.ok((await memoryVersions.redact(made.memory_version_id, there)).redacted_at);
  assert.equal((await memoryVersions.retrieve(made.memory_version_id, there)).content, null);
  await refused(BadRequestError, () => memoryVersions.redact(changed.memory_version_id, there));

  assert.equal((await memories.delete(made.id, there)).type, "memory_deleted");
  assert.ok((await stores.archive(store.id)).archived_at);
  assert.equal((await stores.delete(store.id)).type, "memory_store_deleted");
  await refused(NotFoundError, () => stores.retrieve(store.id));
}
