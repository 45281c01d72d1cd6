import { expect, test } from 'vitest'
import { createTestServer } from '../../../test/support/http/test-server.ts'
import { stubEngine } from '../../../test/support/upstream/stub-engine.ts'
import { emitAll } from '../../base/emit.ts'
import type { EngineEvent } from '../../contract/event.ts'
import type { ServedModel } from '../../contract/served-model.ts'
import { FairScheduler } from '../../core/schedule/fair-scheduler.ts'

/** A server whose alias `default` moves from the model `one` to `two` as soon as `one` has answered its first prompt. */
function open() {
  const answered: string[] = []
  let current: ServedModel
  const createModel = (id: string, logprob: number): ServedModel => {
    async function* reply(isScored: boolean): AsyncGenerator<EngineEvent> {
      answered.push(id)
      current = two
      const promptTokens = [{ id: 1, text: 'a', bytes: [97], top: [], logprob }]
      if (isScored) yield { type: 'prompt-tokens', choice: 0, promptTokens }
      yield { type: 'text-delta', choice: 0, delta: id }
      yield { type: 'finish', choice: 0, reason: 'stop' }
      const usage = { inputTokens: 1, cachedInputTokens: 0, outputTokens: 1, reasoningTokens: 0 }
      yield { type: 'usage', usage, timings: {} }
    }
    const engine = stubEngine({
      prepare: async ({ promptTokens }) => ({
        reportsPrompt: true,
        run: (_, emit) => emitAll(reply(promptTokens !== undefined), emit),
      }),
    })
    return { id, engine, scheduler: new FairScheduler({ slots: 1, maxQueued: 4, engine }) }
  }
  const one = createModel('one', -1)
  const two = createModel('two', -2)
  current = one
  const { app } = createTestServer({ engine: one.engine, served: () => current })
  const post = async (url: string, payload: object) => (await app.inject({ method: 'POST', url, payload })).json()
  return { post, answered }
}

test('the prompts of one request are answered by one model although its alias moves between them', async () => {
  const { post, answered } = open()
  const body = { model: 'default', prompt: ['a', 'b', 'c'] }
  const reply = await post('/v1/completions', body)
  expect(reply.model).toBe('one')
  expect(reply.choices.map(({ text }: { text: string }) => text)).toEqual(['one', 'one', 'one'])
  expect(answered).toEqual(['one', 'one', 'one'])
  // The alias did move: the next request gets the other model.
  expect(await post('/v1/completions', body)).toMatchObject({ model: 'two', choices: Array(3).fill({ text: 'two' }) })
})

test('the texts of one request are scored by one model although its alias moves between them', async () => {
  const { post, answered } = open()
  const body = { model: 'default', messages: ['a', 'b', 'c'] }
  expect(await post('/v1/score/evaluation', body)).toMatchObject({ model: 'one', scores: [-1, -1, -1] })
  expect(answered).toEqual(['one', 'one', 'one'])
  expect(await post('/v1/score/evaluation', body)).toMatchObject({ model: 'two', scores: [-2, -2, -2] })
})
