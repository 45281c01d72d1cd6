import type { Logger } from 'pino'
import type { ToolCallRecord } from '../../core/tool-loop/deps.ts'

/** Logs each call of a server tool: never its arguments or its result. */
export function createToolLog(log: Logger) {
  return ({ id, caller, tool, outcome, durationMs, error }: ToolCallRecord): void => {
    const entry = { generationId: id, key: caller, tool: tool.slice(0, 100), outcome, ms: Math.round(durationMs) }
    if (error === undefined) log.info(entry, 'tool called')
    else log.error({ ...entry, err: error }, 'tool failed')
  }
}
