// Runs the npm SDK's own worker of a self-hosted environment until it is killed.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { BASE_URL, ENVIRONMENT_ID, ENVIRONMENT_KEY, SDK, WORKDIR } = process.env;
const require = createRequire(`${SDK}/package.json`);
const { default: Anthropic } = await import(pathToFileURL(require.resolve("@anthropic-ai/sdk")).href);

const client = new Anthropic({ baseURL: BASE_URL, apiKey: "unused", logLevel: "info" });
await client.beta.environments.work
  .worker({ environmentId: ENVIRONMENT_ID, environmentKey: ENVIRONMENT_KEY, workdir: WORKDIR, maxIdleMs: 3000 })
  .run();
