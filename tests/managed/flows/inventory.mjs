// Lists every method of the SDK without calling it.
const resources = ["agents", "environments", "sessions", "vaults", "files", "skills", "memoryStores", "deployments", "deploymentRuns"];

export default async function flow(client) {
  for (const name of resources) client.beta[name]?.call_everything();
}
