// Loaded by OpenCode itself, into every server that the daemon starts.
// It makes OpenCode ask where its own default is to go ahead, and keeps the server's password from commands.
// What the user has configured stays: ours is only said where nothing is.

const ASKED = ["bash", "edit", "webfetch", "websearch"]
const CHANGE_NOTHING = ["plan", "explore"]

function askFirst(rule) {
  if (rule === undefined) return "ask"
  return typeof rule === "object" && !("*" in rule) ? { "*": "ask", ...rule } : rule
}

export default async () => ({
  config: async (config) => {
    const own = typeof config.permission === "string" ? { "*": config.permission } : config.permission ?? {}
    if ("*" in own) return
    const asked = [...ASKED, ...Object.keys(config.mcp ?? {}).map((name) => name.replace(/[^a-zA-Z0-9_-]/g, "_") + "_*")]
    const ours = Object.fromEntries(asked.map((name) => [name, askFirst(own[name])]))
    config.permission = { ...ours, ...Object.fromEntries(Object.entries(own).filter(([name]) => !(name in ours))) }
    config.permission["everyagent_*"] = own["everyagent_*"] ?? "allow"
    if (own.edit !== undefined) return
    for (const name of CHANGE_NOTHING) {
      const agent = ((config.agent ??= {})[name] ??= {})
      agent.permission = { edit: { "*": "deny", ".opencode/plans/*.md": "allow" }, ...agent.permission }
    }
  },
  "shell.env": async (_, output) => {
    output.env.OPENCODE_SERVER_PASSWORD = undefined
  },
})
