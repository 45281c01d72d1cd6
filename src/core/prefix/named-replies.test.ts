import { describe, expect, test } from 'vitest'
import { type Asked, type Conversation, type Json, plain, write } from '../../../test/support/http/agent-turns.ts'
import { openTestServer } from '../../../test/support/http/test-server.ts'
import { shareOver, startPrimary } from '../../../test/support/process/primary.ts'
import type { Bus } from '../../contract/server/shared.ts'
import { createMediaReader } from '../../media/reader.ts'
import { PrefixMemory } from './prefix-memory.ts'

/** A server, and how to send it a turn. */
function open(everyone?: Bus) {
  const { app } = openTestServer({ prefixes: new PrefixMemory({ everyone }), media: createMediaReader() })
  return async ({ path, body }: Asked, more: Json = {}) => {
    const reply = await app.inject({ method: 'POST', url: path, payload: { model: 'default', ...body, ...more } })
    if (reply.statusCode !== 200) throw new Error(reply.body)
    return { json: reply.json() as Json }
  }
}

/** A change, and what Anthropic's `diagnostics` and OpenAI's `prompt_cache_diagnostics` say of it. */
const reasons: readonly (readonly [string, Partial<Conversation>, string, object])[] = [
  [
    'the system message',
    { system: plain.system.replace('12:01', '12:02') },
    'system_changed',
    { type: 'cache_miss', reason: 'input_changed' },
  ],
  ['the tools', { tools: plain.tools.toReversed() }, 'tools_changed', { type: 'cache_miss', reason: 'tools_changed' }],
  ['a message', { result: 'r' }, 'messages_changed', { type: 'cache_miss', reason: 'input_changed' }],
  ['an option', { effort: 'high' }, 'unavailable', { type: 'cache_miss', reason: 'reasoning_effort_changed' }],
]

describe('a request that names an earlier reply', () => {
  const messages = (previous: unknown) => ({ diagnostics: { previous_message_id: previous } })
  const responses = (previous: unknown) => ({ prompt_cache_options: { comparison_response_id: previous } })

  test.each(reasons)('learns that %s differs', async (_, change, anthropic, openai) => {
    const send = open()
    const first = await send(write.messages(plain, false), messages(null))
    expect(first.json.diagnostics).toBeNull()
    const second = await send(write.messages({ ...plain, ...change }, true), messages(first.json.id))
    const missed = anthropic === 'unavailable' ? {} : { cache_missed_input_tokens: expect.any(Number) }
    expect(second.json.diagnostics).toEqual({ cache_miss_reason: { type: anthropic, ...missed } })
    const third = await send(write.responses(plain, false))
    expect(third.json).not.toHaveProperty('prompt_cache_diagnostics')
    const fourth = await send(write.responses({ ...plain, ...change }, true), responses(third.json.id))
    expect(fourth.json.prompt_cache_diagnostics).toEqual({ ...openai, cache_missed_tokens: expect.any(Number) })
  })

  test('learns that nothing differs', async () => {
    const send = open()
    const first = await send(write.messages(plain, false))
    expect((await send(write.messages(plain, true), messages(first.json.id))).json.diagnostics).toBeNull()
    const third = await send(write.responses(plain, false))
    const fourth = await send(write.responses(plain, true), responses(third.json.id))
    expect(fourth.json.prompt_cache_diagnostics).toEqual({ type: 'cache_hit' })
  })

  test('learns that the reply is not known', async () => {
    const send = open()
    expect((await send(write.messages(plain, true), messages('msg_other'))).json.diagnostics).toEqual({
      cache_miss_reason: { type: 'previous_message_not_found' },
    })
    const { json } = await send(write.responses(plain, true), responses('resp_other'))
    expect(json.prompt_cache_diagnostics).toEqual({ type: 'comparison_response_not_found' })
  })

  /** Two servers with one database; `told`: what they have asked and answered each other, as JSON. */
  const openPods = () => {
    const join = startPrimary()
    const told: string[] = []
    const openPod = () => {
      const bus = shareOver(join().primary)
      const subscribe: Bus['subscribe'] = (topic, listener) =>
        bus.subscribe(topic, async (message) => {
          const answer = await listener(message)
          told.push(JSON.stringify({ message, answer }))
          return answer
        })
      return open({ ...bus, subscribe })
    }
    return { here: openPod(), there: openPod(), told }
  }

  test.each(reasons)('of another server with the same database learns that %s differs', async (_, change, anthropic, openai) => {
    const { here, there } = openPods()
    const first = await here(write.messages(plain, false))
    const second = await there(write.messages({ ...plain, ...change }, true), messages(first.json.id))
    expect(second.json.diagnostics).toMatchObject({ cache_miss_reason: { type: anthropic } })
    const third = await here(write.responses(plain, false))
    const fourth = await there(write.responses({ ...plain, ...change }, true), responses(third.json.id))
    expect(fourth.json.prompt_cache_diagnostics).toMatchObject(openai)
    const same = await there(write.messages(plain, true), messages(first.json.id))
    expect(same.json.diagnostics).toBeNull()
  })

  test('asks others only for a reply that it does not know, and gets no texts', async () => {
    const { here, there, told } = openPods()
    const first = await here(write.messages(plain, false))
    await here(write.messages(plain, true), messages(first.json.id))
    const last = await here(write.messages(plain, true), messages(null))
    await there(write.messages(plain, true))
    expect(told).toEqual([])
    await there(write.messages(plain, true), messages(last.json.id))
    expect(told).toHaveLength(1)
    expect(told[0]).toMatch(/"messages":\[-?\d+(,-?\d+)*\]/)
    expect(told[0]).not.toContain(plain.system.slice(0, 8))
  })

  test('learns it from the first event of a stream', async () => {
    const { app } = openTestServer({ prefixes: new PrefixMemory(), media: createMediaReader() })
    const send = ({ path, body }: Asked, more: Json) =>
      app.inject({ method: 'POST', url: path, payload: { model: 'default', ...body, ...more } })
    const first: Json = (await send(write.messages(plain, false), {})).json()
    const changed = write.messages({ ...plain, result: 'r' }, true)
    const { body } = await send(changed, { stream: true, ...messages(first.id) })
    expect(body.split('\n\n')[0]).toContain('"diagnostics":{"cache_miss_reason":{"type":"messages_changed"')
    const third: Json = (await send(write.responses(plain, false), {})).json()
    const fourth = await send(write.responses({ ...plain, result: 'r' }, true), { stream: true, ...responses(third.id) })
    for (const event of ['response.created', 'response.completed'])
      expect(fourth.body).toMatch(new RegExp(`"type":"${event}".*"prompt_cache_diagnostics":{"type":"cache_miss"`))
  })
})
