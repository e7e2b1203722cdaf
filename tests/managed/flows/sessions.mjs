// Sessions, their events, threads and resources, as the npm SDK uses them.
import assert from "node:assert/strict";
import { all, refused } from "./refused.mjs";

const message = (text) => ({ type: "user.message", content: [{ type: "text", text }] });

export default async function flow(client, { Anthropic, toFile, saw, repository, token }) {
  const { beta } = client;
  const environment = await beta.environments.create({ name: `node sessions ${Date.now()}` });
  const agent = await beta.agents.create({
    name: "Node",
    model: "mock-small",
    metadata: { "everyagent.agent": "mock" },
    tools: [
      { type: "agent_toolset_20260401", default_config: { permission_policy: { type: "always_ask" } } },
      { type: "custom", name: "get_weather", description: "Weather.", input_schema: { type: "object" } },
    ],
  });
  const file = await beta.files.upload({ file: await toFile(Buffer.from("in"), "in.txt") });
  const session = await beta.sessions.create({
    agent: agent.id,
    environment_id: environment.id,
    resources: [
      { type: "file", file_id: file.id },
      { type: "github_repository", url: repository, authorization_token: token },
    ],
    title: "Node",
  });
  assert.deepEqual([session.status, session.title, session.resources.length], ["idle", "Node", 2]);

  const stream = await beta.sessions.events.stream(session.id, { event_deltas: ["agent.message"] });
  const arriving = stream[Symbol.asyncIterator]();
  const until = async (type) => {
    const heard = [];
    for (;;) {
      const { value, done } = await arriving.next();
      assert.ok(!done, `the stream ended before ${type}`);
      heard.push(saw(value));
      if (value.type === type) return heard;
    }
  };
  const say = async (...events) => {
    await beta.sessions.events.send(session.id, { events });
    return until("session.status_idle");
  };

  let heard = await say(message('[hello] [tool command="cat mnt/session/uploads/*"]'));
  assert.equal(heard.at(-1).stop_reason.type, "requires_action");
  const [use] = heard.at(-1).stop_reason.event_ids;
  heard = await say({ type: "user.tool_confirmation", tool_use_id: use, result: "allow" });
  assert.equal(heard.find((event) => event.type === "agent.tool_result").content[0].text, "in");
  heard = await say(message("[custom name=get_weather]"));
  const [custom] = heard.at(-1).stop_reason.event_ids;
  const content = [{ type: "text", text: "sunny" }];
  heard = await say({ type: "user.custom_tool_result", custom_tool_use_id: custom, content });
  assert.equal(heard.at(-1).stop_reason.type, "end_turn");

  const listed = await all(beta.sessions.events.list(session.id, { limit: 3 }));
  assert.equal(new Set(listed.map((event) => event.id)).size, listed.length);
  const messages = await all(beta.sessions.events.list(session.id, { types: ["user.message"], order: "desc" }));
  assert.equal(messages[0].content[0].text, "[custom name=get_weather]");
  await resources(beta.sessions, session.id, file.id);
  await threads(beta.sessions, session.id, say, until);

  assert.equal((await beta.sessions.retrieve(session.id)).status, "idle");
  assert.equal((await beta.sessions.update(session.id, { title: "Other" })).title, "Other");
  assert.ok((await all(beta.sessions.list({ agent_id: agent.id }))).some((each) => each.id === session.id));
  await refused(Anthropic.NotFoundError, () => beta.sessions.retrieve("sesn_nobody"));
  assert.ok((await beta.sessions.archive(session.id)).archived_at);
  await until("session.status_terminated");
  assert.ok((await arriving.next()).done);
  assert.equal((await beta.sessions.delete(session.id)).type, "session_deleted");
}

async function resources(sessions, session_id, file_id) {
  const added = await sessions.resources.add(session_id, { type: "file", file_id, mount_path: "/workspace/again.txt" });
  assert.equal(added.mount_path, "/workspace/again.txt");
  const [, clone, last] = await all(sessions.resources.list(session_id));
  assert.deepEqual([clone.type, last.id], ["github_repository", added.id]);
  const renewed = await sessions.resources.update(clone.id, { session_id, authorization_token: "another" });
  assert.equal(renewed.id, clone.id);
  assert.equal((await sessions.resources.retrieve(added.id, { session_id })).id, added.id);
  assert.equal((await sessions.resources.delete(added.id, { session_id })).type, "session_resource_deleted");
}

async function threads(sessions, session_id, say, until) {
  const heard = await say(message("[subagent]"));
  while (heard.at(-1).stop_reason.type === "requires_action") {
    const allow = (tool_use_id) => ({ type: "user.tool_confirmation", tool_use_id, result: "allow" });
    heard.push(...(await say(...heard.at(-1).stop_reason.event_ids.map(allow))));
  }
  const created = heard.find((event) => event.type === "session.thread_created");
  const [primary, child] = await all(sessions.threads.list(session_id));
  assert.deepEqual([primary.parent_thread_id, child.parent_thread_id], [null, primary.id]);
  assert.equal(child.id, created.session_thread_id);
  assert.equal((await sessions.threads.retrieve(primary.id, { session_id })).id, primary.id);
  const inside = await all(sessions.threads.events.list(child.id, { session_id }));
  assert.equal(inside[0].type, "agent.thread_message_received");
  const stream = await sessions.threads.events.stream(child.id, { session_id });
  stream.controller.abort();
  assert.ok((await sessions.threads.archive(child.id, { session_id })).archived_at);
  await until("session.thread_status_terminated");
}
