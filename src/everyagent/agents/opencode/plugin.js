// OpenCode plugin that is loaded into every server that the daemon starts.
// It makes OpenCode ask for permissions that it gives by default, and hides the server's own variables from commands.
// The user's configuration takes precedence.
// Before each tool call it asks the daemon to apply the session's tool policies. If that fails, the call is denied.

import { randomBytes } from "node:crypto"
import { connect } from "node:net"

const SOCKET = process.env.EVERYAGENT_HOOK_SOCKET
const TOKEN = process.env.EVERYAGENT_HOOK_TOKEN
const SILENCE_LIMIT = 60_000
const OURS = [
  "OPENCODE_SERVER_PASSWORD",
  "EVERYAGENT_HOOK_SOCKET",
  "EVERYAGENT_HOOK_TOKEN",
  "EVERYAGENT_SERVER_NAME",
  "npm_config_@opencode-ai:registry",
]

const ASKED = ["bash", "edit", "webfetch", "websearch"]
const CHANGE_NOTHING = ["plan", "explore"]

function askFirst(rule) {
  if (rule === undefined) return "ask"
  return typeof rule === "object" && !("*" in rule) ? { "*": "ask", ...rule } : rule
}

function ask(message) {
  return new Promise((resolve) => {
    const away = (why) => resolve(`reject This call needs permission, but everyagent's daemon is away (${why}).`)
    const daemon = connect(SOCKET)
    let answer = ""
    daemon.setTimeout(SILENCE_LIMIT, () => daemon.destroy(new Error("it is silent")))
    daemon.on("error", (error) => away(error.message))
    daemon.on("data", (piece) => (answer += piece))
    daemon.on("close", () => (answer.trim() ? resolve(answer.trim()) : away("it went")))
    const body = JSON.stringify(message)
    daemon.write(`${TOKEN} ${randomBytes(16).toString("hex")} ${Buffer.byteLength(body)}\n${body}`)
  })
}

async function hooks() {
  await ask({ hello: process.env.EVERYAGENT_SERVER_NAME })
  return {
    "tool.execute.before": async (input, output) => {
      const verdict = await ask({ wish: { ...input, args: output.args } })
      if (verdict !== "allow") throw new Error(verdict.replace(/^reject /, ""))
    },
  }
}

export default async () => ({
  ...(SOCKET ? await hooks() : {}),
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
    for (const name of OURS) output.env[name] = undefined
  },
})
