import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createRandom } from '../support/hostile/storm.ts'
import { until } from '../support/http/app.ts'
import { soakLength } from '../support/process/soak-length.ts'
import { type CancelServer, everything, type Phase, phases, startCancelServer } from '../support/tools/cancel-server.ts'
import { hasSandbox, sandboxHint } from '../support/tools/sandbox.ts'

const count = soakLength(200)
const atATime = 8
/** Longer than a call takes to begin on an idle machine: instants before, while and after it begins. */
const longestMs = 600

let server: CancelServer
beforeAll(async () => {
  server = await startCancelServer()
})
afterAll(() => server?.close())

test(`${count} cancels at random instants leave nothing: no process, connection or call, and each reply ends once${sandboxHint}`, async () => {
  const random = createRandom(7)
  const all: readonly Phase[] = [...phases, ...(existsSync(everything) ? (['everything'] as const) : [])]
  const plans = Array.from({ length: count }, (_, index) => ({
    id: `storm-${index}`,
    phase: all[Math.floor(random() * all.length)] ?? 'model',
    leaves: random() < 0.5,
    afterMs: random() * longestMs,
  }))
  const ends: Record<string, number> = {}
  const one = async ({ id, phase, leaves, afterMs }: (typeof plans)[number]) => {
    const stream = server.open(phase, id)
    await pause(afterMs)
    if (leaves) stream.hangUp()
    else await server.cancel(id)
    await stream.ended
    if (leaves) return
    const finishes = stream.text().match(/"finish_reason":"\w+"/g) ?? []
    expect([id, phase, finishes]).toEqual([id, phase, ['"finish_reason":"length"']])
    expect(stream.text().endsWith('data: [DONE]\n\n')).toBe(true)
    ends[phase] = (ends[phase] ?? 0) + 1
  }
  const queue = [...plans]
  const lane = async () => {
    for (let plan = queue.shift(); plan !== undefined; plan = queue.shift()) await one(plan)
  }
  await Promise.all(Array.from({ length: atATime }, lane))
  console.log(`cancelled by id: ${JSON.stringify(ends)}; left by their clients: ${plans.filter(({ leaves }) => leaves).length}`)
  await until(async () => (await server.left()).length === 0)
  // All tools still work, the servers of the storm included.
  const tools = ['search', 'mcp', ...(hasSandbox ? ['python'] : []), ...(existsSync(everything) ? ['everything'] : [])] as const
  for (const tool of tools) expect([tool, await server.complete(tool as 'search')]).toEqual([tool, 'It is done.'])
  expect(await server.left()).toEqual([])
})
