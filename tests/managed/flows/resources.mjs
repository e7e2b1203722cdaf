// Agents, environments, files, vaults and skills, as the npm SDK uses them.
import assert from "node:assert/strict";
import { all, refused } from "./refused.mjs";

export default async function flow(client, { Anthropic, toFile, mcp }) {
  await agents(client.beta.agents, Anthropic);
  await environments(client.beta.environments, Anthropic);
  await files(client.beta.files, toFile, Anthropic);
  await vaults(client.beta.vaults, mcp, Anthropic);
  await skills(client.beta.skills, toFile, Anthropic);
}

async function agents(agents, { ConflictError }) {
  const agent = await agents.create({
    name: "Node",
    model: { id: "claude-opus-4-8", effort: "high" },
    tools: [{ type: "agent_toolset_20260401", configs: [{ name: "bash", permission_policy: { type: "auto" } }] }],
  });
  assert.equal(agent.version, 1);
  assert.deepEqual(agent.model.effort, { type: "high" });
  assert.deepEqual(agent.tools[0].configs[0], {
    name: "bash",
    type: "bash",
    enabled: true,
    permission_policy: { type: "auto" },
  });
  assert.equal((await agents.update(agent.id, { version: 1, system: "Brief." })).version, 2);
  await refused(ConflictError, () => agents.update(agent.id, { version: 1, system: "Late." }));
  assert.equal((await agents.retrieve(agent.id, { version: 1 })).system, null);
  assert.deepEqual((await all(agents.versions.list(agent.id, { limit: 1 }))).map((each) => each.version), [2, 1]);
  assert.ok((await all(agents.list({ limit: 1 }))).some((each) => each.id === agent.id));
  assert.ok((await agents.archive(agent.id)).archived_at);
}

async function environments(environments, { ConflictError }) {
  const made = await environments.create({ name: "node", config: { type: "cloud", packages: { pip: ["attrs"] } } });
  assert.deepEqual(made.config.packages.pip, ["attrs"]);
  assert.deepEqual(made.config.networking, { type: "unrestricted" });
  await refused(ConflictError, () => environments.create({ name: "node" }));
  const described = await environments.update(made.id, { description: "Mine." });
  assert.equal(described.description, "Mine.");
  assert.equal((await environments.retrieve(made.id)).description, "Mine.");
  assert.ok((await all(environments.list({ limit: 1 }))).some((each) => each.id === made.id));
  assert.ok((await environments.archive(made.id)).archived_at);
  assert.equal((await environments.delete(made.id)).type, "environment_deleted");
}

async function files(files, toFile, { NotFoundError }) {
  const made = await files.upload({ file: await toFile(Buffer.from("content"), "a.txt", { type: "text/plain" }) });
  assert.deepEqual([made.filename, made.mime_type, made.size_bytes], ["a.txt", "text/plain", 7]);
  assert.equal(await (await files.download(made.id)).text(), "content");
  assert.deepEqual(await files.retrieveMetadata(made.id), made);
  const other = await files.upload({ file: await toFile(Buffer.from("b"), "b.txt"), expires_in_seconds: 3600 });
  assert.deepEqual((await all(files.list({ limit: 1 }))).map((each) => each.id).slice(0, 2), [other.id, made.id]);
  assert.deepEqual((await all(files.list({ ids: [made.id] }))).map((each) => each.id), [made.id]);
  for (const each of [made, other]) assert.equal((await files.delete(each.id)).type, "file_deleted");
  await refused(NotFoundError, () => files.retrieveMetadata(made.id));
}

async function vaults(vaults, mcp, { ConflictError }) {
  const vault = await vaults.create({ display_name: "Node" });
  assert.equal((await vaults.update(vault.id, { display_name: "Node.js" })).display_name, "Node.js");
  const auth = { type: "static_bearer", mcp_server_url: `${mcp}/mcp`, token: "fresh-static" };
  const made = await vaults.credentials.create(vault.id, { auth });
  assert.ok(!JSON.stringify(made).includes("fresh-static"));
  await refused(ConflictError, () => vaults.credentials.create(vault.id, { auth }));
  const known = { vault_id: vault.id };
  assert.equal((await vaults.credentials.mcpOAuthValidate(made.id, known)).status, "valid");
  await vaults.credentials.update(made.id, { ...known, auth: { type: "static_bearer", token: "stale" } });
  assert.equal((await vaults.credentials.mcpOAuthValidate(made.id, known)).status, "invalid");
  assert.equal((await vaults.credentials.retrieve(made.id, known)).id, made.id);
  assert.equal((await all(vaults.credentials.list(vault.id))).length, 1);
  assert.ok((await vaults.credentials.archive(made.id, known)).archived_at);
  assert.equal((await vaults.credentials.delete(made.id, known)).type, "vault_credential_deleted");
  assert.equal((await vaults.retrieve(vault.id)).id, vault.id);
  assert.ok((await all(vaults.list())).some((each) => each.id === vault.id));
  assert.ok((await vaults.archive(vault.id)).archived_at);
  assert.equal((await vaults.delete(vault.id)).type, "vault_deleted");
}

async function skills(skills, toFile, { BadRequestError }) {
  const text = "---\nname: node-skill\ndescription: From Node.\n---\n";
  const folder = async (body) => [await toFile(Buffer.from(body), "node/SKILL.md")];
  const skill = await skills.create({ display_name: "Node", files: await folder(text) });
  assert.deepEqual([skill.display_name, skill.source.type], ["Node", "custom"]);
  const version = await skills.versions.create(skill.id, { files: await folder(`${text}More.`) });
  assert.equal((await skills.retrieve(skill.id)).latest_version_id, version.id);
  const first = skill.latest_version_id;
  assert.equal((await skills.versions.retrieve(first, { skill_id: skill.id })).name, "node-skill");
  assert.equal((await all(skills.versions.list(skill.id))).length, 2);
  const zip = Buffer.from(await (await skills.versions.download(first, { skill_id: skill.id })).arrayBuffer());
  assert.equal(zip.subarray(0, 2).toString(), "PK");
  await refused(BadRequestError, async () => skills.create({ files: await folder("nothing") }));
  assert.ok((await all(skills.list())).some((each) => each.id === skill.id));
  assert.equal((await skills.versions.delete(first, { skill_id: skill.id })).type, "skill_version_deleted");
  assert.equal((await skills.delete(skill.id)).type, "skill_deleted");
}
