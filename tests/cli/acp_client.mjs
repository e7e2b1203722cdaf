// A turn of `everyagent acp` with the official TypeScript client, which checks every message by its schema.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const child = spawn(process.env.PROGRAM, JSON.parse(process.env.WORDS), { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const asked = [];

const editor = acp.client({ name: "tests" }).onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
  asked.push(params.toolCall.title);
  const option = params.options.find((each) => each.kind === "allow_once");
  return { outcome: { outcome: "selected", optionId: option.optionId } };
});

await editor.connectWith(stream, async (agent) => {
  const { agent: of } = acp.methods;
  const begun = await agent.request(of.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
  assert.equal(begun.protocolVersion, 1);
  assert.equal(begun.agentCapabilities.loadSession, true);
  const session = await agent.buildSession(process.cwd()).start();
  assert.equal(session.modes.currentModeId, "default");
  const prompted = session.prompt("[reasoning] [ask] [plan]");
  const kinds = new Set();
  for (;;) {
    const message = await session.nextUpdate();
    if (message.kind === "stop") break;
    kinds.add(message.update.sessionUpdate);
  }
  assert.equal((await prompted).stopReason, "end_turn");
  assert.deepEqual(asked, ["echo permitted"]);
  for (const kind of ["agent_thought_chunk", "agent_message_chunk", "tool_call", "tool_call_update", "plan"]) {
    assert.ok(kinds.has(kind), kind);
  }
  const { sessions } = await agent.request(of.session.list, {});
  assert.ok(sessions.some((each) => each.sessionId === session.sessionId));
  const { configOptions } = await agent.request(of.session.setConfigOption, {
    sessionId: session.sessionId, configId: "model", value: "mock-large",
  });
  assert.equal(configOptions.find((each) => each.category === "model").currentValue, "mock-large");
  await agent.request(of.session.load, { sessionId: session.sessionId, cwd: process.cwd(), mcpServers: [] });
  await agent.request(of.session.close, { sessionId: session.sessionId });
  await agent.request(of.session.delete, { sessionId: session.sessionId });
  await assert.rejects(agent.request(of.session.resume, { sessionId: session.sessionId, cwd: process.cwd() }));
});
child.stdin.end();
