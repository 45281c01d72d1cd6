import type { Agent } from './agent.ts'
import { claude } from './claude.ts'
import { cline } from './cline.ts'
import { codex } from './codex.ts'
import { copilot } from './copilot.ts'
import { opencode } from './opencode.ts'
import { pi } from './pi.ts'
import { qwen } from './qwen.ts'

/** The agents that `dragoman launch` starts, by name. */
export const agents: ReadonlyMap<string, Agent> = new Map(
  [claude, codex, copilot, qwen, opencode, pi, cline].map((agent) => [agent.command, agent]),
)
