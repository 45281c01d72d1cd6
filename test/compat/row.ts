import { join } from 'node:path'
import { hasSandbox } from '../support/tools/sandbox.ts'
import type { Answer } from '../support/upstream/upstream.ts'
import { type Check, status } from './checks.ts'

/**
 * How a client of the other server fares here. `better`: it gets more than there. `works`: the same. `differs`: its purpose is served in
 * another way. `refused`: an error says why, or what to do instead. `missing`: it is not there.
 */
export const verdicts = ['missing', 'refused', 'differs', 'works', 'better'] as const
export type Verdict = (typeof verdicts)[number]

/**
 * What a client sends. The same object is sent once: several steps may read its reply. `LAST:id`, in the path or the body, is a value of
 * the reply of the step before.
 */
export type Request = {
  readonly call: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** In place of a body: the fields of a form. */
  readonly form?: Readonly<Record<string, string | Blob>>
  /** `admin` unless given; `user` and `other-user` are callers without its rights, `reader` reads metrics; `none` sends no key. */
  readonly key?: 'admin' | 'user' | 'other-user' | 'reader' | 'none'
  /** The server: `main` unless given (servers.ts). */
  readonly at?: RowServer
  /** What the upstream answers meanwhile. */
  readonly upstream?: Answer
}

export type RowServer = 'main' | 'other' | 'tools'

/**
 * What a request is in its row, if its checks do not show the row at once. `accepts`: that it is accepted is the row. `prepares`: others
 * need it. `cleans-up`: sent also when the row has failed. `starts`: its reply is read by a later step with the same request. `soon`: it
 * is repeated until the checks hold.
 */
export type Part = 'accepts' | 'prepares' | 'cleans-up' | 'starts' | 'soon'

export type RequestStep = {
  readonly type: 'request'
  readonly request: Request
  readonly checks: readonly Check[]
  readonly part?: Part
}

/** What shows a row. */
export type Step =
  | RequestStep
  /** The request with and without these fields: the texts are equal, or differ. */
  | { readonly type: 'comparison'; readonly request: Request; readonly fields: object; readonly areEqual: boolean }
  /** A file below the folder of the servers has a text, or none has it, within ten seconds. */
  | { readonly type: 'file'; readonly pattern: string; readonly wanted: RegExp; readonly isThere: boolean }
  /** A test of ours. */
  | { readonly type: 'test'; readonly file: string; readonly name: string }
  /** What this machine cannot show. */
  | { readonly type: 'not-run'; readonly why: string }

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

/** A test of ours, by its path from `test`: `name` is a part of its title, in the source and when it runs. */
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

/** A form, such as one with a file. */
export function postForm(path: string, form: NonNullable<Request['form']>, ...checks: readonly Check[]): Step {
  return reads({ call: `POST ${path}`, form }, ...checks)
}

/** The same step with more about its request. */
export function sent(more: Partial<Request>, step: Step): Step {
  return 'request' in step ? { ...step, request: { ...step.request, ...more } } : step
}

const inPart = (part: Part) => (step: Step) => (step.type === 'request' ? { ...step, part } : step)
export const accepts = inPart('accepts')
export const prepares = inPart('prepares')
export const cleansUp = inPart('cleans-up')
export const starts = inPart('starts')
export const soon = inPart('soon')

/** The fields change the text of a reply, which is the same each time without them: set a seed. */
export function changes(base: Step, fields: object): Step {
  return comparison(base, fields, false)
}

/** The fields do not change the text of a reply. */
export function keeps(base: Step, fields: object): Step {
  return comparison(base, fields, true)
}

function comparison(base: Step, fields: object, areEqual: boolean): Step {
  if (base.type !== 'request') throw new Error('only the texts of two requests can be compared')
  return { type: 'comparison', request: base.request, fields, areEqual }
}

/** Some file below the servers' folder, such as `other/captured/*`, has a text. */
export function file(pattern: string, wanted: RegExp): Step {
  return { type: 'file', pattern, wanted, isThere: true }
}

export function noFile(pattern: string, wanted: RegExp): Step {
  return { type: 'file', pattern, wanted, isThere: false }
}

/** A step that runs programs of models. */
export const inSandbox = (step: Step): Step => (hasSandbox ? step : { type: 'not-run', why: 'install bubblewrap' })

export const asUser = (step: Step) => sent({ key: 'user' }, step)
export const asOtherUser = (step: Step) => sent({ key: 'other-user' }, step)
export const withoutKey = (step: Step) => sent({ key: 'none' }, step)
/** With the server that has tools and services. */
export const onTools = (step: Step) => sent({ at: 'tools' }, step)
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

/** A chat with the model that calls what its user says: `call web_search {"query": "tides"}`. It then repeats the result. */
export function usesTools(words: string, fields: object, ...checks: readonly Check[]): Step {
  return onTools(chat({ model: 'tool-user', messages: [user(words)], enable_tools: true, ...fields }, ...checks))
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
  return step.type === 'request'
    ? { ...step, checks: [status(400, new RegExp(`"param":"${name.replace(/[[\].]/g, '\\$&')}`))] }
    : step
}

export const tool = (name = 'f', parameters: object = { type: 'object', properties: { a: {} } }) => ({
  type: 'function',
  function: { name, parameters },
})
