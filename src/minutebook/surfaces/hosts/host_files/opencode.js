// Written by `minutebook connect opencode --hooks`; `--remove` takes it out again.
// It tells minutebook when a session starts, is summarised or ends, and adds what comes back.
import { spawn } from "node:child_process"

const HOOK = @HOOK@
const PATIENCE = 5000

function tell(event, input, cwd) {
  return new Promise((resolve) => {
    const child = spawn(HOOK[0], [...HOOK.slice(1), event], { cwd, stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => child.kill(), PATIENCE)
    let said = ""
    child.stdout.on("data", (part) => (said += part))
    child.stdin.on("error", () => {})
    child.on("error", () => resolve(null))
    child.on("close", () => {
      clearTimeout(timer)
      try {
        resolve(said ? JSON.parse(said).context : null)
      } catch {
        resolve(null)
      }
    })
    child.stdin.end(JSON.stringify({ ...input, cwd }))
  })
}

export const Minutebook = async ({ directory }) => {
  const contexts = new Map()
  return {
    event: async ({ event }) => {
      const info = event.properties?.info
      if (event.type === "session.created" && info && !info.parentID) {
        contexts.set(info.id, tell("session-start", { sessionID: info.id }, directory))
        await contexts.get(info.id)
      } else if (event.type === "session.deleted" && info) {
        contexts.delete(info.id)
        await tell("session-end", { sessionID: info.id }, directory)
      }
    },
    "experimental.chat.system.transform": async (input, output) => {
      const context = await contexts.get(input.sessionID)
      if (context) output.system.push(context)
    },
    "experimental.session.compacting": async (input, output) => {
      const context = await tell("pre-compact", { sessionID: input.sessionID }, directory)
      if (context) output.context.push(context)
    },
  }
}
