import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../support/http/app.ts'
import { mostCancelMs } from '../../support/process/stall-bound.ts'
import { type CancelServer, phases, startCancelServer } from '../../support/tools/cancel-server.ts'
import { sandboxHint } from '../../support/tools/sandbox.ts'

let server: CancelServer
beforeAll(async () => {
  server = await startCancelServer()
  // The programs of MCP servers have started.
  expect(await server.complete('mcp')).toBe('It is done.')
})
afterAll(() => server?.close())

const figures: string[] = []
afterAll(() => console.log(`from a cancel to the end of the reply, and of all that ran, in ms: ${figures.join('; ')}`))

test.each(phases)(
  `a cancel in the phase %s ends the reply and all that runs, and nothing more starts${sandboxHint}`,
  async (phase) => {
    const stream = server.open(phase, phase)
    await server.running(phase)
    expect(await server.left()).not.toEqual([])
    const { asked } = server
    const startMs = performance.now()
    await server.cancel(phase)
    await stream.ended
    const endedMs = performance.now() - startMs
    await until(async () => (await server.left()).length === 0, mostCancelMs())
    figures.push(`${phase} ${Math.round(endedMs)}, ${Math.round(performance.now() - startMs)}`)
    expect(endedMs).toBeLessThan(mostCancelMs())
    expect(stream.text()).toMatch(/"finish_reason":"length".*data: \[DONE\]\n\n$/s)
    expect(stream.text().match(/"finish_reason":"/g)).toHaveLength(1)
    expect(stream.text()).not.toContain('never said')
    // A whole request later, what was cancelled has begun nothing.
    expect(await server.complete('search')).toBe('It is done.')
    expect(server.asked).toBe(asked + 1)
    expect(await server.left()).toEqual([])
  },
)

test.each(phases)('a client that leaves in the phase %s leaves nothing behind', async (phase) => {
  const stream = server.open(phase, `left-${phase}`)
  await server.running(phase)
  stream.hangUp()
  await until(async () => (await server.left()).length === 0, mostCancelMs())
})
