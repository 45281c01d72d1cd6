import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { builtinModel } from '../../src/registry/names/builtin-model.ts'
import { hostileConstraints } from '../support/hostile/hostile-constraints.ts'
import { type RunningApp, startApp, until } from '../support/http/app.ts'
import { loadFactor } from '../support/process/stall-bound.ts'

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
      for (const [name, body] of hostileConstraints) {
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

  test.each(hostileConstraints)('a client that disconnects frees the slot: %s', async (_, body) => {
    const leaving = new AbortController()
    const left = post({ ...body, model: 'narrow', max_tokens: 2000, ignore_eos: true }, leaving.signal).then(
      (response) => response.text(),
      () => undefined,
    )
    setTimeout(() => leaving.abort(), 300)
    await left.catch(() => undefined)
    const startMs = performance.now()
    expect((await post({ model: 'narrow', max_tokens: 1 })).status).toBe(200)
    expect(performance.now() - startMs).toBeLessThan(2000 * loadFactor())
  })
})
