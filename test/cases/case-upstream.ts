import { isDeepStrictEqual } from 'node:util'
import { startUpstream } from '../support/upstream/upstream.ts'
import type { Case } from './case.ts'

/** One server for the upstreams of all cases, each below its case's id; `seen` is the last body that each got. */
export async function startCaseUpstream(cases: readonly Case[]) {
  const seen = new Map<string, unknown>()
  const upstream = await startUpstream(({ path, body }, response) => {
    const id = path.split('/')[1] ?? ''
    seen.set(id, body)
    const rules = cases.find((each) => each.id === id)?.upstream ?? []
    const fits = (when: Record<string, unknown>) =>
      Object.entries(when).every(([place, value]) => isDeepStrictEqual(valueAt(body, place), value))
    const rule = rules.find(({ when = {} }) => fits(when)) ?? { status: 500, json: { error: { message: 'no rule fits' } } }
    if (rule.sse === undefined) {
      response.writeHead(rule.status ?? 200, { 'content-type': 'application/json' }).end(JSON.stringify(rule.json))
      return
    }
    const head = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'up' }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of rule.sse) {
      response.write(typeof event === 'string' ? event : `data: ${JSON.stringify({ ...head, ...event })}\n\n`)
    }
    response.end('data: [DONE]\n\n')
  })
  upstream.get = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ object: 'list', data: [{ id: 'up', object: 'model' }] }))
    return true
  }
  return { url: new URL(upstream.url).origin, seen, close: upstream.close }
}

/** What is at a place such as `choices.0.message`; undefined where there is no such place. */
export function valueAt(value: unknown, place: string): unknown {
  return place.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown> | null | undefined)?.[key], value)
}
