import { expect, test } from 'vitest'
import { openResponsesServer, type WireResponse } from '../../../test/support/http/responses-server.ts'
import { openTestStore } from '../../../test/support/test-store.ts'
import type { Store } from '../../contract/store.ts'

/** A store that saves responses that have ended only when it is let go on. */
async function openHeldStore() {
  const store = await openTestStore()
  let goOn: () => void = () => undefined
  const goes = new Promise<void>((resolve) => {
    goOn = resolve
  })
  let hasBegun: () => void = () => undefined
  const begun = new Promise<void>((resolve) => {
    hasBegun = resolve
  })
  const held: Store = {
    ...store,
    responses: {
      ...store.responses,
      save: async (response) => {
        if (response.status !== 'queued' && response.status !== 'in_progress') {
          hasBegun()
          await goes
        }
        await store.responses.save(response)
      },
    },
  }
  return { store: held, begun, goOn }
}

test.each([{}, { stream: true }, { background: true }])(
  'the slot of a response %j is free while the response is stored, and the next request gets it',
  async (fields) => {
    const { store, begun, goOn } = await openHeldStore()
    const { call, scheduler, deps } = await openResponsesServer({ store, slots: 1 })
    const reply = call('POST', '/v1/responses', { model: 'default', input: 'Hi', ...fields })
    await begun
    expect(scheduler.load).toMatchObject({ busy: 0, queued: 0 })
    expect(deps.cancellations.size).toBe(1)
    const { status } = await call('POST', '/v1/completions', { model: 'default', prompt: 'Next' })
    expect(status).toBe(200)
    goOn()
    expect((await reply).status).toBe(200)
  },
)

test('the log of a stopped response counts the time of its work, not that of its store', async () => {
  const { store, begun, goOn } = await openHeldStore()
  const endless = JSON.stringify({ raw: 'late', delayMs: 3_600_000 })
  let nowMs = 0
  const { call, watched, logLines } = await openResponsesServer({ store, slots: 1, now: () => nowMs })
  const reply = call('POST', '/v1/responses', { model: 'default', input: endless, cancel_id: 'c' })
  await watched.started()
  await call('POST', '/api/inference/cancel', { cancel_id: 'c' })
  await begun
  nowMs = 60_000
  goOn()
  expect((await reply).body as WireResponse).toMatchObject({ status: 'cancelled' })
  const stop = logLines.map((line) => JSON.parse(line)).find(({ msg }) => msg === 'request stopped')
  expect(stop).toMatchObject({ reason: 'requested', cancelId: 'c', endedMs: 0 })
})
