// Deployments, as the npm SDK uses them.
import assert from "node:assert/strict";
import { all, refused } from "./refused.mjs";

export default async function flow(client, { Anthropic }) {
  const { agents, environments, deployments, deploymentRuns, sessions } = client.beta;
  const agent = await agents.create({ name: "Deployed", model: "mock-small" });
  const environment = await environments.create({ name: "deployed by node" });
  const schedule = { type: "cron", expression: "*/10 * * * *", timezone: "UTC" };
  const initial_events = [{ type: "user.message", content: [{ type: "text", text: "Hello" }] }];
  const made = await deployments.create({ name: "N", agent: agent.id, environment_id: environment.id, initial_events, schedule });
  assert.equal(made.schedule.upcoming_runs_at.length, 5);
  assert.equal((await deployments.update(made.id, { name: "Node" })).name, "Node");
  assert.equal((await deployments.pause(made.id)).status, "paused");
  assert.equal((await deployments.unpause(made.id)).status, "active");
  const run = await deployments.run(made.id);
  assert.equal((await deploymentRuns.retrieve(run.id)).session_id, run.session_id);
  assert.deepEqual((await all(deploymentRuns.list({ deployment_id: made.id }))).map((each) => each.id), [run.id]);
  assert.equal((await sessions.retrieve(run.session_id)).deployment_id, made.id);
  assert.ok((await all(deployments.list({ limit: 1 }))).some((each) => each.id === made.id));
  assert.ok((await deployments.archive(made.id)).archived_at);
  assert.equal((await deployments.retrieve(made.id)).name, "Node");
  await refused(Anthropic.BadRequestError, () => deployments.run(made.id));
}
