import { isDeepStrictEqual } from 'node:util'
import type { SeenRequest } from '../support/upstream/upstream.ts'

/** A reply as it arrived. */
export type Reply = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly bytes: Buffer
  /** Its JSON; undefined for a stream. */
  readonly json: unknown
  /** The JSON of its events, without `[DONE]`. */
  readonly events: readonly unknown[]
  /** What the upstream has got. */
  readonly seen: readonly SeenRequest[]
  /** What the service of searches was asked for. */
  readonly searches: readonly string[]
}

/** What is wrong with a reply; undefined if nothing is. */
export type Check = (reply: Reply) => string | undefined

/** The status, and a part of the body. */
export function status(wanted: number, text?: RegExp): Check {
  const check: Check = (reply) => {
    if (reply.status !== wanted) return `status ${reply.status} in place of ${wanted}: ${short(reply.text)}`
    return text === undefined || text.test(reply.text) ? undefined : `not ${text}: ${short(reply.text)}`
  }
  if (wanted < 300 && text === undefined) acceptances.add(check)
  return check
}

const acceptances = new WeakSet<Check>()
/** It says that a request is accepted, and nothing more. */
export const isAcceptance = (check: Check) => acceptances.has(check)

export function body(text: RegExp): Check {
  return status(200, text)
}

/** A value of the JSON, such as `choices.0.message.content`: that it is there, is this one, or matches. */
export function has(path: string, wanted?: unknown): Check {
  return (reply) => at('', { value: reply.json, path, wanted, text: reply.text })
}

export function lacks(path: string): Check {
  return ({ json }) => (valueAt(json, path) === undefined ? undefined : `${path} is there`)
}

/** A value of the newest request that the upstream got. */
export function upstreamGot(path: string, wanted?: unknown): Check {
  return ({ seen }) => at('upstream: ', { value: seen.at(-1)?.body, path, wanted, text: JSON.stringify(seen.at(-1)?.body) })
}

export function upstreamLacks(path: string): Check {
  return ({ seen }) => (valueAt(seen.at(-1)?.body, path) === undefined ? undefined : `upstream: ${path} is there`)
}

/** The values at a path of each request for an answer that the upstream got. */
export function upstreamGotEach(path: string, ...wanted: readonly unknown[]): Check {
  return ({ seen }) => {
    const found = seen.filter((request) => request.path.endsWith('completions')).map(({ body }) => valueAt(body, path))
    return isDeepStrictEqual(found, wanted) ? undefined : `upstream: ${path} of each is ${JSON.stringify(found)}`
  }
}

/** Some request that the upstream got: its path, a header, its bytes. */
export function upstreamSaw(wanted: (request: SeenRequest) => boolean): Check {
  return ({ seen }) => (seen.some(wanted) ? undefined : `upstream: ${seen.map(({ path }) => path).join(', ') || 'nothing'}`)
}

export const upstreamGotNothing: Check = ({ seen }) =>
  seen.length === 0 ? undefined : `upstream: ${seen.map(({ path }) => path).join(', ')}`

export function searchedFor(wanted: string): Check {
  return ({ searches }) => (searches.includes(wanted) ? undefined : `searched for ${searches.join('; ') || 'nothing'}`)
}

export function header(name: string, wanted: RegExp): Check {
  return ({ headers }) =>
    wanted.test(headers.get(name) ?? '') ? undefined : `header ${name}: ${headers.get(name) ?? 'absent'}, not ${wanted}`
}

/** Where replies of a model have their text. */
const textPlaces = [
  ...['choices.0.message.content', 'choices.0.text', 'content.0.text', 'output.0.content.0.text', 'message.content', 'response'],
  ...['completion_message.content', 'content', 'results.0.text', 'choices.0.delta.content', 'delta.text'],
]

/** The text that a model wrote, in a reply of any protocol. */
export function textOf(reply: Reply): string | undefined {
  const ofModel = (value: unknown, place: string) => {
    const found = valueAt(value, place)
    return typeof found === 'string' ? found : undefined
  }
  if (reply.json !== undefined) return textPlaces.map((place) => ofModel(reply.json, place)).find((found) => found !== undefined)
  const found = textPlaces.map((place) => reply.events.map((one) => ofModel(one, place) ?? '').join(''))
  return found.find((text) => text !== '')
}

/** The text of a chat completion, whole or streamed. */
export function text(wanted: string | RegExp): Check {
  return (reply) => {
    const found =
      reply.json === undefined
        ? deltas(reply, 'choices.0.delta.content').join('')
        : (valueAt(reply.json, 'choices.0.message.content') ?? valueAt(reply.json, 'choices.0.text'))
    return matches(found, wanted) ? undefined : `text ${JSON.stringify(found)}, not ${wanted}: ${short(reply.text)}`
  }
}

/** The reason for which a chat completion or a completion ended, whole or streamed. */
export function finish(wanted: string): Check {
  return (reply) => {
    const found =
      valueAt(reply.json, 'choices.0.finish_reason') ?? deltas(reply, 'choices.0.finish_reason').findLast((one) => one !== null)
    return found === wanted ? undefined : `finish ${found}, not ${wanted}`
  }
}

/** The calls of a whole chat completion, as `name({…})`. */
export function calls(...wanted: readonly string[]): Check {
  return (reply) => {
    const found = (valueAt(reply.json, 'choices.0.message.tool_calls') ?? []) as {
      function: { name: string; arguments: string }
    }[]
    const names = found.map(({ function: { name, arguments: args } }) => `${name}(${args.replace(/\s/g, '')})`)
    return isDeepStrictEqual(names, wanted)
      ? undefined
      : `calls ${names.join('; ') || '–'}, not ${wanted.join('; ')}: ${short(reply.text)}`
  }
}

/** Values of the events of a stream that have them, in order. */
export function deltas({ events }: Reply, path: string): readonly unknown[] {
  return events.map((event) => valueAt(event, path)).filter((value) => value !== undefined)
}

/** That some event of a stream has a value. */
export function event(path: string, wanted?: unknown): Check {
  return (reply) => {
    const found = deltas(reply, path)
    const good = wanted === undefined ? found.length > 0 : found.some((value) => matches(value, wanted))
    return good ? undefined : `no event with ${path} ${wanted ?? ''}: ${short(reply.text)}`
  }
}

/** The values of all events of a stream that have one, in order. */
export function events(path: string, ...wanted: readonly unknown[]): Check {
  return (reply) => {
    const found = deltas(reply, path)
    return isDeepStrictEqual(found, wanted) ? undefined : `events with ${path}: ${JSON.stringify(found)}: ${short(reply.text)}`
  }
}

export function valueAt(value: unknown, path: string): unknown {
  return path === ''
    ? value
    : path.split('.').reduce<unknown>((one, key) => (one as Record<string, unknown> | null)?.[key], value)
}

type CheckedValue = { readonly value: unknown; readonly path: string; readonly wanted: unknown; readonly text: string }

function at(where: string, { value, path, wanted, text: all }: CheckedValue): string | undefined {
  const found = valueAt(value, path)
  const good = wanted === undefined ? found !== undefined : matches(found, wanted)
  return good
    ? undefined
    : `${where}${path} is ${JSON.stringify(found)}${wanted === undefined ? '' : `, not ${show(wanted)}`}: ${short(all)}`
}

function matches(found: unknown, wanted: unknown): boolean {
  if (wanted instanceof RegExp) return wanted.test(typeof found === 'string' ? found : (JSON.stringify(found) ?? ''))
  if (typeof wanted === 'function') return wanted(found) === true
  return isDeepStrictEqual(found, wanted)
}

function show(wanted: unknown): string {
  return wanted instanceof RegExp || typeof wanted === 'function' ? String(wanted) : JSON.stringify(wanted)
}

function short(value: string | undefined): string {
  return (value ?? 'nothing').slice(0, 400)
}
