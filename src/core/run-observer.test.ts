import { describe, expect, test } from 'vitest'
import { contextOf } from '../../test/support/http/context.ts'
import { playingEngine, shortUsage } from '../../test/support/upstream/stub-engine.ts'
import type { EngineEvent } from '../contract/event.ts'
import { plainRequest } from '../contract/request.ts'
import type { RequestCost, Scheduler } from '../contract/scheduler.ts'
import { generate } from './generate.ts'
import { RunObserver } from './run-observer.ts'

const text: EngineEvent = { type: 'text-delta', choice: 0, delta: 'a' }

describe('a run has cost', () => {
  test.each<[string, number | undefined, readonly EngineEvent[], number]>([
    ['nothing before a sign of its prompt', 10, [], 0],
    ['its prompt and a token for each piece, until the engine reports', 10, [text, text], 12],
    ['the prompt that the engine has read', 10, [{ type: 'prompt-read', inputTokens: 12, cachedInputTokens: 0 }], 12],
    ['its output alone, where the engine cannot count the prompt', undefined, [text], 1],
    ['what the engine reports', 10, [text, text, shortUsage], 2],
  ])('a run has cost %s', (_, inputTokens, events, total) => {
    const run = new RunObserver(1, inputTokens)
    for (const event of events) run.observe(event)
    expect(run.spent).toBe(total)
  })
})

/** A scheduler that grants everything, and keeps the costs and charges of its tickets. */
function recording() {
  const costs: RequestCost[] = []
  const charges: number[] = []
  const scheduler: Scheduler = {
    load: { slots: 1, busy: 0, queued: 0, lanes: { interactive: 0, background: 0 }, refused: 0 },
    whenIdle: async () => undefined,
    enter: () => ({
      ready: async () => undefined,
      slot: async (cost) => void costs.push(cost),
      charge: (tokens) => void charges.push(tokens),
      release: () => undefined,
      leave: () => undefined,
    }),
  }
  return { costs, charges, scheduler }
}

const request = { ...plainRequest, id: 'r', model: 'm', prompt: { type: 'text', text: 'eight by' } as const, maxOutputTokens: 5 }
const limited = { id: 'k', scopes: new Set<never>(), quota: { account: 'k', tokensPerMinute: 100 } }

test('a generation that fails in mid-stream is charged for what it made', async () => {
  const engine = playingEngine([text, text, new Error('broken')], { inputTokens: 10 })
  const { charges, scheduler } = recording()
  const context = contextOf(engine, { model: { id: 'm', engine, scheduler } })
  await generate({ now: () => 0 }, [request], context).run(() => undefined)
  expect(charges).toEqual([12])
})

test('the cost of the first of several prompts is that of all, with an estimate for those that nothing has counted', async () => {
  const finish: EngineEvent = { type: 'finish', choice: 0, reason: 'stop' }
  const engine = playingEngine([text, finish, shortUsage])
  const { costs, scheduler } = recording()
  const context = contextOf(engine, { model: { id: 'm', engine, scheduler }, principal: limited })
  await generate({ now: () => 0 }, [request, { ...request, choices: 2 }], context).run(() => undefined)
  expect(costs[0]).toEqual({ inputTokens: 4, maxOutputTokens: 15 })
})

test('a request without an output limit has none in its cost', async () => {
  const finish: EngineEvent = { type: 'finish', choice: 0, reason: 'stop' }
  const engine = playingEngine([text, finish, shortUsage], { inputTokens: 3 })
  const { costs, scheduler } = recording()
  const { maxOutputTokens: _, ...unlimited } = request
  await generate({ now: () => 0 }, [unlimited], contextOf(engine, { model: { id: 'm', engine, scheduler } })).run(() => undefined)
  expect(costs).toEqual([{ inputTokens: 3 }])
})

test('a cancelled run says how long it has read and written', async () => {
  let nowMs = 5
  const run = new RunObserver(1, 0, () => nowMs)
  const seen: unknown[] = []
  run.observe({ type: 'start', model: 'm', warnings: [], inputTokens: 3 })
  nowMs = 15
  run.observe(text)
  nowMs = 45
  run.observe(text)
  await run.complete({ model: 'm', totalMs: 45 }, 'cancelled', (event) => void seen.push(event))
  expect(seen.at(-1)).toMatchObject({
    usage: { inputTokens: 3, outputTokens: 2 },
    timings: { prefillMs: 10, decodeMs: 30, totalMs: 45 },
  })
})
