import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { builtinModel } from '../../src/registry/builtin-model.ts'
import { type RunningApp, startApp, until } from '../support/app.ts'

let app: RunningApp
beforeAll(async () => {
  const model = { id: 'tiny', engine: 'llama', source: builtinModel.path, threads: 1, slots: 3, contextLength: 4096 } as const
  app = await startApp({ models: [model, { ...model, id: 'narrow', slots: 1 }] })
}, 120_000)
afterAll(() => app?.close())

const messages = [{ role: 'user', content: 'Tell me a long story.' }]

function post(body: object, signal?: AbortSignal): Promise<Response> {
  return fetch(`${app.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'tiny', messages, max_tokens: 40, ...body }),
    ...(signal !== undefined && { signal }),
  })
}

const bySchema = (schema: unknown) => ({ response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } })
const values = (count: number) => Array.from({ length: count }, (_, index) => `value ${(index * 7919) % 1_000_003}`)
const rivals = Array.from({ length: 400 }, (_, index) => ({
  type: 'object',
  properties: { kind: { const: `kind-${index}` }, [`field${index}`]: { type: 'integer', minimum: index, maximum: 1_000_003 } },
  required: ['kind'],
}))

/** Constraints of a few bytes that take a backtracking or exponential sampler years, and large ones. */
const hostile: readonly (readonly [string, object])[] = [
  ['nested repetitions', { regex_pattern: '(\\w+\\s?)+' }],
  ['optional parts', { regex_pattern: '(a?){400}a{400}' }],
  ['repeated wildcards', { regex_pattern: '.*.*.*' }],
  ['a long ambiguous pattern', { regex_pattern: '(a|b|ab|c*)*'.repeat(250) }],
  ['a grammar that doubles its ways', { grammar: 'root ::= s\ns ::= [a-z ] s "a" | [a-z ] s "b" | [a-z ]' }],
  ['many values', bySchema({ enum: values(40_000) })],
  ['a choice of many', { guided_choice: values(3000) }],
  ['rival branches', bySchema({ properties: { a: { oneOf: rivals }, b: { oneOf: rivals.slice(1) } } })],
]

/** Reads a stream until it is told to stop; returns the longest pause since the last look. */
function watchStream(): { longestMs(): number; end(): Promise<void>; readonly tokens: number } {
  let isOver = false
  let tokens = 0
  let longest = 0
  const leaving = new AbortController()
  const reading = (async () => {
    while (!isOver) {
      const response = await post({ stream: true, ignore_eos: true, max_tokens: 3000 }, leaving.signal)
      let last = performance.now()
      for await (const _ of response.body ?? []) {
        tokens += 1
        const now = performance.now()
        longest = Math.max(longest, now - last)
        last = now
      }
    }
  })().catch(() => undefined)
  return {
    longestMs() {
      const found = longest
      longest = 0
      return found
    },
    async end() {
      isOver = true
      leaving.abort()
      await reading
    },
    get tokens() {
      return tokens
    },
  }
}

describe('hostile constraints', { timeout: 60_000 }, () => {
  test('each is answered, and the stream of another client keeps its rhythm', async () => {
    const stream = watchStream()
    try {
      // The first constraint also starts the thread that compiles it.
      await post({ regex_pattern: 'a{3}' })
      await until(() => stream.tokens > 100)
      stream.longestMs()
      await post({ regex_pattern: '[a-z ]{200}', max_tokens: 100 })
      const usual = stream.longestMs()
      const gaps: [string, number, number][] = []
      for (const [name, body] of hostile) {
        const response = await post(body)
        await response.text()
        gaps.push([name, response.status, stream.longestMs()])
      }
      if (process.env.SHOW !== undefined) console.log(usual, gaps)
      // Threads of a busy machine wait for a core now and then.
      const most = Math.max(600, 3 * usual)
      expect(gaps.filter(([, status, gap]) => ![200, 400].includes(status) || gap > most)).toEqual([])
    } finally {
      await stream.end()
    }
  })

  test.each(hostile)('a client that disconnects frees the slot: %s', async (_, body) => {
    const leaving = new AbortController()
    const left = post({ ...body, model: 'narrow', max_tokens: 2000, ignore_eos: true }, leaving.signal).then(
      (response) => response.text(),
      () => undefined,
    )
    setTimeout(() => leaving.abort(), 300)
    await left.catch(() => undefined)
    const startMs = performance.now()
    expect((await post({ model: 'narrow', max_tokens: 1 })).status).toBe(200)
    expect(performance.now() - startMs).toBeLessThan(2000)
  })
})
