import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createFakeEngine } from '../src/engine/fake/engine.ts'
import { createTestServer } from './support/http/test-server.ts'

/** Requests that real clients sent with their default settings, and what each of them needs in answer. */
const folder = new URL('../../shared/vectors/clients/', import.meta.url)
const names = existsSync(folder)
  ? readdirSync(folder).flatMap((name) => (name.endsWith('.json') && name !== 'expected.json' ? [name.slice(0, -5)] : []))
  : []

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

const recorded = names
  .map((name) => ({ name, ...(read(name) as Recorded) }))
  .filter(({ path }) => !absent.some((start) => path.startsWith(start)))

let app: FastifyInstance
beforeAll(() => {
  const engine = createFakeEngine({ script: 'from-request', contextLength: 200_000, toolFormat: 'hermes' })
  app = createTestServer({ engine }).app
})
afterAll(() => app.close())

// A file needs a test.
if (names.length === 0) test.skip('requests of real clients (skipped: ../shared/vectors is not here)', () => undefined)

test.each(recorded)('the request $name is answered as its client needs it', async ({ name, method, path, headers, body }) => {
  const payload = body === null ? {} : { payload: JSON.stringify(body).replaceAll(/"example-model(:latest)?"/g, '"default"') }
  const reply = await app.inject({ method, url: path, headers, ...payload })
  const { status, form } = wanted[name] ?? { status: 200 }
  expect([status].flat(), reply.body.slice(0, 300)).toContain(reply.statusCode)
  if (reply.statusCode !== 200) return
  if (form !== undefined) expect(framing(String(reply.headers['content-type']))).toBe(form)
  for (const frame of [reply.body, ...reply.body.split('\n')]) expect(errorOf(frame)).toBeUndefined()
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
