import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { stubEngine } from '../../../test/support/upstream/stub-engine.ts'
import { createDragoman } from '../create-dragoman.ts'

/** Thinks and says a little, and shows what it was given. */
function thinker() {
  const prompts: string[] = []
  const usage = { inputTokens: 1, cachedInputTokens: 0, outputTokens: 2, reasoningTokens: 1 }
  const engine = stubEngine({
    prepare: async ({ prompt }) => {
      prompts.push(JSON.stringify(prompt))
      return {
        run: async (_, emit) => {
          await emit({ type: 'reasoning-delta', choice: 0, delta: 'a thought' })
          await emit({ type: 'text-delta', choice: 0, delta: 'so it is' })
          await emit({ type: 'finish', choice: 0, reason: 'stop' })
          await emit({ type: 'usage', usage, timings: {} })
        },
      }
    },
  })
  return { engine, prompts }
}

const user = { role: 'user', content: 'hi' }
const asked = { model: 'm', max_tokens: 2000, thinking: { type: 'enabled', budget_tokens: 1024 } }

/** A server with these keys, and all that a test asks of it as one of its callers. */
async function open(keys: readonly string[]) {
  const config = {
    builtinModel: false,
    storage: 'off' as const,
    ...(keys.length > 0 && { server: { apiKeys: keys.map((key) => ({ key, name: key.slice(0, 1) })) } }),
  }
  const { engine, prompts } = thinker()
  const dragoman = await createDragoman({ config, models: [{ id: 'm', aliases: ['default'], engine }] })
  onTestFinished(() => dragoman.close())
  const post = async (path: string, body: object, key = '') => {
    const headers = { 'content-type': 'application/json', ...(key !== '' && { 'x-api-key': key }) }
    const request = new Request(`http://localhost${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const response = await dragoman.fetch(request)
    return { status: response.status, body: JSON.parse(await response.text()) }
  }
  return {
    compact: async (key?: string) =>
      (await post('/v1/responses/compact', { model: 'm', input: 'We talked.' }, key)).body.output.at(-1),
    resume: async (item: object, key?: string) =>
      (await post('/v1/responses', { input: [item, { role: 'user', content: 'go on' }] }, key)).status,
    think: async (key?: string) => (await post('/v1/messages', { ...asked, messages: [user] }, key)).body.content,
    /** Whether the model is given what it thought. */
    remembers: async (content: object, key?: string) => {
      await post('/v1/messages', { ...asked, messages: [user, { role: 'assistant', content }, user] }, key)
      return prompts.at(-1)?.includes('a thought')
    },
  }
}

test('what is sealed for one key is opened for this key or one of its name, after a restart too, and for no other caller', async () => {
  const home = await mkdtemp(join(tmpdir(), 'dragoman-sealed-'))
  vi.stubEnv('DRAGOMAN_HOME', home)
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    await rm(home, { recursive: true })
  })
  const [first, restarted, keyless] = [await open(['a', 'b']), await open(['a-changed', 'b']), await open([])]
  const [item, thought] = [await first.compact('a'), await first.think('a')]
  expect([await first.resume(item, 'a'), await first.resume(item, 'b')]).toEqual([200, 400])
  expect([await restarted.resume(item, 'a-changed'), await restarted.resume(item, 'b')]).toEqual([200, 400])
  expect([await first.remembers(thought, 'a'), await first.remembers(thought, 'b')]).toEqual([true, false])
  expect(await keyless.resume(item)).toBe(400)
  const another = await open([])
  expect([await keyless.resume(await keyless.compact()), await another.resume(await keyless.compact())]).toEqual([200, 200])
})
