import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createFakeEngine } from '../src/engine/fake/engine.ts'
import { createTestServer } from './support/http/test-server.ts'

/** Requests that real clients sent with their default settings, and what each of them needs in answer. */
const folder = new URL('../../shared/vectors/clients/', import.meta.url)
const names = existsSync(folder)
  ? readdirSync(folder).flatMap((name) => (name.endsWith('.json') && name !== 'expected.json' ? [name.slice(0, -5)] : []))
  : []
if (names.length === 0) console.warn('the bodies of real clients are skipped: ../shared/vectors is not here')

type Wanted = { readonly status: number | readonly number[]; readonly form?: 'sse' | 'ndjson' | 'json' }
type Recorded = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: unknown
}

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(`${name}.json`, folder), 'utf8'))
const wanted = (names.length === 0 ? {} : read('expected')) as Readonly<Record<string, Wanted>>
/** This server loads and fetches no models. */
const absent = ['/models/load', '/api/pull', '/api/delete']

let app: FastifyInstance
beforeAll(() => {
  const engine = createFakeEngine({ script: 'from-request', contextLength: 200_000, toolFormat: 'hermes' })
  app = createTestServer({ engine }).app
})
afterAll(() => app.close())

describe.skipIf(names.length === 0)('requests of real clients are answered as they need it', () => {
  // A suite needs a test, also where it is skipped.
  test.each(names.length === 0 ? ['none'] : names)('%s', async (name) => {
    const { method, path, headers, body } = read(name) as Recorded
    const isAbsent = absent.some((start) => path.startsWith(start))
    const payload = body === null ? {} : { payload: JSON.stringify(body).replaceAll(/"example-model(:latest)?"/g, '"default"') }
    const reply = await app.inject({ method, url: path, headers, ...payload })
    if (isAbsent) return
    const { status, form } = wanted[name] ?? { status: 200 }
    expect([status].flat(), reply.body.slice(0, 300)).toContain(reply.statusCode)
    if (reply.statusCode !== 200) return
    expect(framing(String(reply.headers['content-type']))).toBe(form ?? framing(String(reply.headers['content-type'])))
    for (const frame of [reply.body, ...reply.body.split('\n')]) expect(errorOf(frame)).toBeUndefined()
  })
})

function framing(type: string): string {
  if (type.includes('event-stream')) return 'sse'
  return type.includes('ndjson') ? 'ndjson' : 'json'
}

/** An error inside a reply with status 200. */
function errorOf(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^data: /, '')).error ?? undefined
  } catch {
    return undefined
  }
}
