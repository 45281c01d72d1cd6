import type { Registry } from 'prom-client'
import type { ToolCallRecord } from '../../core/tool-loop/deps.ts'
import { addCounter, addDistributions, BoundedNames } from './tallies.ts'

const secondBounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
/** Models invent names, and requests name servers of their own. */
const maxTools = 100

export function addToolMetrics(registry: Registry) {
  const calls = addCounter(registry, {
    name: 'dragoman_tool_calls_total',
    help: 'Calls of tools of the server by outcome: ok, error, timeout, defect, cancelled, refused, repeated or unknown; tools beyond the first 100 are `other`.',
    labelNames: ['tool', 'outcome'],
  })
  const seconds = addDistributions(registry, {
    name: 'dragoman_tool_call_seconds',
    help: 'How long executed calls of tools of the server took.',
    labelNames: ['tool'],
    bounds: secondBounds,
  })
  const names = new BoundedNames(maxTools)
  return {
    called: ({ tool, outcome, durationMs }: Pick<ToolCallRecord, 'tool' | 'outcome' | 'durationMs'>): void => {
      // A model may invent names.
      const name = outcome === 'unknown' ? 'unknown' : names.labelOf(tool)
      calls.at(name, outcome).total += 1
      const wasExecuted = outcome !== 'unknown' && outcome !== 'refused' && outcome !== 'repeated'
      if (wasExecuted) seconds.at(name).observe(durationMs / 1000)
    },
  }
}
