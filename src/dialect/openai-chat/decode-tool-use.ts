import { AppError } from '../../contract/errors.ts'
import { plainToolUse, type ToolUse } from '../../contract/request.ts'
import type { ChatWire } from './schema.ts'

/** From here on, Unsloth's numbers stand for no limit. */
const unlimited = 9999

/** The server tools that a request enables; undefined: none. Throws for tools of the client beside them. */
export function decodeToolUse(wire: ChatWire): ToolUse | undefined {
  if (wire.enable_tools !== true || wire.enabled_tools?.length === 0) return undefined
  const declared = (['tools', 'functions'] as const).find((name) => (wire[name] ?? []).length > 0)
  if (declared !== undefined) {
    const message =
      `${declared} are run by the client, and enable_tools has the server run its own: send one of them, or both in a request to ` +
      '/v1/responses'
    throw new AppError('invalid-request', message, { param: declared })
  }
  const { maxTurns, ...plain } = plainToolUse
  const timeoutSeconds = wire.tool_call_timeout
  return {
    ...plain,
    ...(wire.enabled_tools !== undefined && wire.enabled_tools !== null && { names: [...new Set(wire.enabled_tools)] }),
    maxTurns: limitOf(wire.max_tool_calls_per_message) ?? maxTurns,
    ...(timeoutSeconds !== undefined && timeoutSeconds !== null && { timeoutMs: (limitOf(timeoutSeconds) ?? 0) * 1000 }),
    heals: wire.auto_heal_tool_calls ?? true,
    approves: wire.permission_mode === 'ask' || wire.confirm_tool_calls === true ? 'all' : 'marked',
  }
}

function limitOf(number: number | null | undefined): number | undefined {
  if (number === undefined || number === null) return undefined
  return number >= unlimited ? Number.POSITIVE_INFINITY : number
}
