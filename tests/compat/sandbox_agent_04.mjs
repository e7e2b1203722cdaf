// Methods of sandbox-agent 0.4.2's SDK that need no desktop, on a daemon. Prints the failed ones as JSON.
import { SandboxAgent } from "sandbox-agent";

process.on("unhandledRejection", () => {}); // of its own connection to `/v1/acp`
const client = await SandboxAgent.connect({ baseUrl: process.env.URL, token: process.env.TOKEN, skipHealthCheck: true });
const folder = process.env.DIRECTORY;
const calls = {
  getHealth: () => client.getHealth(),
  listAgents: () => client.listAgents(),
  getAgent: () => client.getAgent("mock"),
  installAgent: () => client.installAgent("mock"),
  createSession: () => client.createSession({ agent: "mock", cwd: folder }),
  listFsEntries: () => client.listFsEntries({ path: folder }),
  writeFsFile: () => client.writeFsFile({ path: `${folder}/a.txt` }, "text"),
  readFsFile: () => client.readFsFile({ path: `${folder}/a.txt` }),
  statFs: () => client.statFs({ path: `${folder}/a.txt` }),
  mkdirFs: () => client.mkdirFs({ path: `${folder}/b` }),
  moveFs: () => client.moveFs({ from: `${folder}/a.txt`, to: `${folder}/b/a.txt`, overwrite: true }),
  deleteFsEntry: () => client.deleteFsEntry({ path: `${folder}/b`, recursive: true }),
  setMcpConfig: () => client.setMcpConfig({ directory: folder, mcpName: "a" }, { type: "local", command: "true" }),
  setSkillsConfig: () => client.setSkillsConfig({ directory: folder, skillName: "a" }, { sources: [] }),
  runProcess: () => client.runProcess({ command: "true" }),
  listProcesses: () => client.listProcesses(),
  createProcess: () => client.createProcess({ command: "true" }),
  getProcessConfig: () => client.getProcessConfig(),
};
const failed = {};
for (const [name, call] of Object.entries(calls)) {
  try {
    await Promise.race([call(), new Promise((_, no) => setTimeout(() => no(new Error("no answer in 20 s")), 20000))]);
  } catch (error) {
    failed[name] = `${error.status ?? ""} ${error.message}`.slice(0, 160);
  }
}
console.log(JSON.stringify({ total: Object.keys(calls).length, failed }));
process.exit(0);
