import { expect, test, vi } from 'vitest'
import type { ServerTool } from '../../contract/server-tool.ts'
import { runTool } from './run-tool.ts'

const tool = (run: ServerTool['run']): ServerTool => ({
  name: 'python',
  kind: 'python',
  description: '',
  parameters: {},
  takesTurns: true,
  run,
})
const call = {
  arguments: {},
  session: { principalId: 'key', id: 'session' },
  signal: new AbortController().signal,
  timeoutMs: 1000,
}

test('the time of a call counts from its turn', async () => {
  vi.useFakeTimers()
  try {
    const waits = tool(async ({ signal, onBegin }) => {
      await new Promise((resolve) => setTimeout(resolve, 5000))
      expect(signal.aborted).toBe(false)
      onBegin?.()
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve({ text: 'half', isError: true })))
    })
    const running = runTool(waits, call)
    await vi.advanceTimersByTimeAsync(5999)
    await vi.advanceTimersByTimeAsync(1)
    expect(await running).toEqual({
      outcome: { text: 'half\nThe call took longer than 1 s and was ended.', isError: true },
      how: 'timeout',
    })
  } finally {
    vi.useRealTimers()
  }
})
