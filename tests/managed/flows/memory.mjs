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

  await remembering(client.beta, store);
  assert.equal((await memories.delete(made.id, there)).type, "memory_deleted");
  assert.ok((await stores.archive(store.id)).archived_at);
  assert.equal((await stores.delete(store.id)).type, "memory_store_deleted");
  await refused(NotFoundError, () => stores.retrieve(store.id));
}

// A session reads one memory and writes another.
async function remembering(beta, store) {
  const environment = await beta.environments.create({ name: `node memory ${Date.now()}` });
  const agent = await beta.agents.create({
    name: "Node",
    model: "mock-small",
    metadata: { "everyagent.agent": "mock" },
    tools: [{ type: "agent_toolset_20260401" }],
  });
  const command = "cd mnt/memory/node-s-notes; cat a/b.md; echo third > c.md";
  const session = await beta.sessions.create({
    agent: agent.id,
    environment_id: environment.id,
    resources: [{ type: "memory_store", memory_store_id: store.id, instructions: "Write." }],
    initial_events: [{ type: "user.message", content: [{ type: "text", text: `[tool command="${command}"]` }] }],
  });
  const { mount_path, access } = session.resources[0];
  assert.deepEqual([mount_path, access], ["/mnt/memory/node-s-notes", "read_write"]);
  const heard = [];
  const deadline = Date.now() + 60_000;
  while (!heard.some((event) => event.type === "session.status_idle")) {
    assert.ok(Date.now() < deadline, "the session does not come to rest");
    heard.splice(0, heard.length, ...(await all(beta.sessions.events.list(session.id))));
  }
  assert.equal(heard.find((event) => event.type === "agent.tool_result").content[0].text, "second");
  const versions = await all(beta.memoryStores.memoryVersions.list(store.id, { session_id: session.id, view: "full" }));
  assert.deepEqual(versions.map((each) => [each.path, each.content]), [["/c.md", "third\n"]]);
  assert.deepEqual(
    (await all(beta.sessions.list({ memory_store_id: store.id }))).map((each) => each.id),
    [session.id],
  );
}
