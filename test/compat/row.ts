import { join } from 'node:path'
import type { Answer } from '../support/upstream/upstream.ts'
import { type Check, status } from './checks.ts'

/**
 * How a client of the other server fares here. `better`: it gets more than there. `works`: the same. `differs`: its purpose is served in
 * another way. `refused`: an error says why, or what to do instead. `missing`: it is not there.
 */
export const verdicts = ['missing', 'refused', 'differs', 'works', 'better'] as const
export type Verdict = (typeof verdicts)[number]

/** What a client sends. The same object is sent once: several steps may read its reply. */
export type Request = {
  readonly call: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** The key: `admin` unless given; `none` sends none. */
  readonly key?: 'admin' | 'user' | 'none'
  /** The server: `main` unless given; `other` has no keys, and the settings that change replies. */
  readonly at?: 'main' | 'other'
  /** What the upstream answers meanwhile. */
  readonly upstream?: Answer
}

/** A request, and what its reply has to be; or the test that shows more than a request can. */
export type Step =
  | { readonly type: 'request'; readonly request: Request; readonly checks: readonly Check[] }
  | { readonly type: 'test'; readonly file: string; readonly name: string }

export type Row = {
  readonly number: number | string
  /** What its users expect. */
  readonly expects: string
  readonly verdict: Verdict
  /** How it is better or different, or why it is refused or missing. */
  readonly how: string
  readonly steps: readonly Step[]
}

/** The rows of one kind of behaviour. */
export type Group = { readonly title: string; readonly rows: readonly Row[] }

export type System = {
  readonly title: string
  /** The first letters of the ids of its rows. */
  readonly prefix: string
  readonly introduction: string
  readonly groups: readonly Group[]
}

export function works(number: number | string, expects: string, ...steps: readonly Step[]): Row {
  return { number, expects, verdict: 'works', how: '', steps }
}

export const better = rowOf('better')
export const differs = rowOf('differs')
export const refused = rowOf('refused')
export const missing = rowOf('missing')

function rowOf(verdict: Verdict) {
  return (number: number | string, [expects, how]: readonly [expects: string, how: string], ...steps: readonly Step[]): Row => ({
    number,
    expects,
    verdict,
    how,
    steps,
  })
}

/** A test of ours, by its path from `test`: `name` is a part of its text. */
export function shownBy(file: string, name: string): Step {
  return { type: 'test', file: join('test', file), name }
}

export function reads(request: Request, ...checks: readonly Check[]): Step {
  return { type: 'request', request, checks }
}

export function get(path: string, ...checks: readonly Check[]): Step {
  return reads({ call: `GET ${path}` }, ...checks)
}

export function post(path: string, body: object, ...checks: readonly Check[]): Step {
  return reads({ call: `POST ${path}`, body }, ...checks)
}

/** The same step with more about its request. */
export function sent(more: Partial<Request>, step: Step): Step {
  return step.type === 'test' ? step : { ...step, request: { ...step.request, ...more } }
}

export const asUser = (step: Step) => sent({ key: 'user' }, step)
export const withoutKey = (step: Step) => sent({ key: 'none' }, step)
export const elsewhere = (step: Step) => sent({ at: 'other', key: 'none' }, step)

const hello = [{ role: 'user', content: 'hello' }]

export const user = (content: unknown, more: object = {}) => ({ role: 'user', content, ...more })
export const assistant = (content: unknown, more: object = {}) => ({ role: 'assistant', content, ...more })
export const system = (content: unknown) => ({ role: 'system', content })
/** A turn with one call of `f`. */
export const called = (args: unknown, more: object = {}) =>
  assistant(null, { tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: args }, ...more }] })
export const result = (content: unknown, more: object = { tool_call_id: 'a' }) => ({ role: 'tool', content, ...more })
/** Parts of a message. */
export const textPart = (text: string) => ({ type: 'text', text })
export const imagePart = (url: string, more: object = {}) => ({ type: 'image_url', image_url: { url, ...more } })

/** The prompt of a conversation, as the template writes it. */
export function prompt(model: string, messages: readonly object[], ...checks: readonly Check[]): Step {
  return post('/apply-template', { model, messages }, ...checks)
}

/** A chat completion of `hello` with the scripted model. */
export function chat(fields: object, ...checks: readonly Check[]): Step {
  return post('/v1/chat/completions', { model: 'scripted', messages: hello, ...fields }, ...checks)
}

/** A short one with the model that is computed. */
export function tiny(fields: object, ...checks: readonly Check[]): Step {
  return chat({ model: 'dragoman-tiny', max_tokens: 4, ...fields }, ...checks)
}

export function complete(fields: object, ...checks: readonly Check[]): Step {
  return post('/v1/completions', { model: 'scripted', prompt: 'hello', ...fields }, ...checks)
}

export function tinyComplete(fields: object, ...checks: readonly Check[]): Step {
  return complete({ model: 'dragoman-tiny', max_tokens: 4, ...fields }, ...checks)
}

/** A chat in which the model writes this text. */
export function writes(raw: string, fields: object, ...checks: readonly Check[]): Step {
  return chat({ messages: [{ role: 'user', content: JSON.stringify({ raw }) }], ...fields }, ...checks)
}

/** A chat with a model of another server, which answers so. */
export function over(answer: Answer, fields: object, ...checks: readonly Check[]): Step {
  return sent({ upstream: answer }, chat({ model: 'vllm', ...fields }, ...checks))
}

/** The field alone is refused, by its name. */
export function refuses(step: Step, name: string): Step {
  return step.type === 'test'
    ? step
    : { ...step, checks: [status(400, new RegExp(`"param":"${name.replace(/[[\].]/g, '\\$&')}`))] }
}

export const tool = (name = 'f', parameters: object = { type: 'object', properties: { a: {} } }) => ({
  type: 'function',
  function: { name, parameters },
})
