import { expect, test } from 'vitest'
import { createMetrics } from './metrics.ts'

const textOf = (metrics: ReturnType<typeof createMetrics>) => metrics.render()

test('calls of tools count by tool and outcome; only executed ones take time', async () => {
  const metrics = createMetrics({ readLoad: () => [], version: '1', processMetrics: false })
  for (const outcome of ['ok', 'ok', 'timeout', 'repeated', 'refused'] as const)
    metrics.toolCalled({ tool: 'python', outcome, durationMs: 2000 })
  const text = await textOf(metrics)
  expect(text).toContain('dragoman_tool_calls_total{tool="python",outcome="ok"} 2')
  expect(text).toContain('dragoman_tool_calls_total{tool="python",outcome="repeated"} 1')
  expect(text).toContain('dragoman_tool_call_seconds_count{tool="python"} 3')
  expect(text).toContain('dragoman_tool_call_seconds_sum{tool="python"} 6')
})

test('names that models invent, and those beyond the first 100, have no series of their own', async () => {
  const metrics = createMetrics({ readLoad: () => [], version: '1', processMetrics: false })
  for (let index = 0; index < 300; index++) {
    metrics.toolCalled({ tool: `invented${index}`, outcome: 'unknown', durationMs: 0 })
    metrics.toolCalled({ tool: `tool${index}`, outcome: 'ok', durationMs: 0 })
  }
  const text = await textOf(metrics)
  expect(text).toContain('dragoman_tool_calls_total{tool="unknown",outcome="unknown"} 300')
  expect(text).toContain('dragoman_tool_calls_total{tool="other",outcome="ok"} 200')
  expect(text).not.toContain('invented')
})
