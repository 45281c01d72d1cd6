import { expect, test } from 'vitest'
import { contextOf } from '../../test/support/http/context.ts'
import { playingEngine, shortUsage } from '../../test/support/upstream/stub-engine.ts'
import { plainRequest } from '../contract/request.ts'
import type { Lane } from '../contract/scheduler.ts'
import { generate } from './generate.ts'

const request = { ...plainRequest, id: 'r', model: 'm', prompt: { type: 'text', text: 'hello' } as const }

test.each([
  ['flex', 'background'],
  ['default', undefined],
  [undefined, undefined],
] as const)('a request of service tier %s waits in lane %s', async (tier, lane) => {
  const engine = playingEngine([
    { type: 'text-delta', choice: 0, delta: 'a' },
    { type: 'finish', choice: 0, reason: 'stop' },
    shortUsage,
  ])
  const { model, ...context } = contextOf(engine)
  const lanes: (Lane | undefined)[] = []
  const scheduler: typeof model.scheduler = {
    load: model.scheduler.load,
    whenIdle: (signal) => model.scheduler.whenIdle(signal),
    enter: (entering) => {
      lanes.push(entering.lane)
      return model.scheduler.enter(entering)
    },
  }
  const forwarded = tier === undefined ? {} : { forwarded: { serviceTier: tier } }
  const generation = generate({ now: () => 0 }, [{ ...request, ...forwarded }], { ...context, model: { ...model, scheduler } })
  await generation.run(() => undefined)
  expect(lanes).toEqual([lane])
})
