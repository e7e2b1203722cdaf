// The work queue of a self-hosted environment: every call.
import assert from "node:assert/strict";
import { all, refused } from "./refused.mjs";

export default async function flow(client, { Anthropic }) {
  const { beta } = client;
  const { work } = beta.environments;
  const config = { type: "self_hosted" };
  const { id: environment_id } = await beta.environments.create({ name: `node work ${Date.now()}`, config });
  assert.equal(await work.poll(environment_id), null);
  const agent = await beta.agents.create({
    name: "Node",
    model: "mock-small",
    metadata: { "everyagent.agent": "mock" },
    tools: [{ type: "agent_toolset_20260401" }],
  });
  const text = '[custom name=bash input={"command":"uname"}]';
  const initial_events = [{ type: "user.message", content: [{ type: "text", text }] }];
  const session = await beta.sessions.create({ agent: agent.id, environment_id, initial_events });
  let item = null;
  while (item === null) item = await work.poll(environment_id, { block_ms: 999 });
  assert.deepEqual([item.state, item.data.id], ["queued", session.id]);
  assert.equal((await work.stats(environment_id)).pending, 1);
  assert.equal((await work.ack(item.id, { environment_id })).state, "starting");
  const beat = await work.heartbeat(item.id, { environment_id, expected_last_heartbeat: "NO_HEARTBEAT" });
  assert.deepEqual([beat.state, beat.lease_extended], ["active", true]);
  assert.equal((await work.retrieve(item.id, { environment_id })).latest_heartbeat_at, beat.last_heartbeat);
  assert.deepEqual((await work.update(item.id, { environment_id, metadata: { a: "1" } })).metadata, { a: "1" });
  assert.equal((await work.stop(item.id, { environment_id, force: true })).state, "stopped");
  await refused(Anthropic.ConflictError, () => work.stop(item.id, { environment_id }));
  assert.equal((await all(work.list(environment_id))).length, 2);
}
