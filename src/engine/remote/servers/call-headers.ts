import type { CallOrigin } from '../../../contract/call-origin.ts'
import { bytesOf } from '../../../contract/media.ts'
import type { GenerationRequest, Prompt } from '../../../contract/request.ts'
import type { Lane } from '../../../contract/scheduler.ts'
import type { TraceContext } from '../../../contract/tracing.ts'
import type { Endpoint } from '../transport/client.ts'
import type { ProfileName } from './profile.ts'
import { providerAt } from './providers.ts'
import { type RouterKind, routerHeaders } from './router-kinds.ts'

/** Configures the headers that tell a model's servers where requests come from. */
export type CallHeaderOptions = {
  readonly router: RouterKind
  /** The objective of each lane, if the router has any. */
  readonly objectives: Readonly<Partial<Record<Lane, string>>>
  /** A keyed hash: processes with the same key get the same value for the same text, and the value does not reveal the text. */
  hash(text: string): string
}

/** A call and its destination. The trace is the only one of the caller's headers that is passed on. */
export type OutgoingCall = {
  readonly endpoint: Pick<Endpoint, 'url' | 'isRouter'>
  readonly kind: ProfileName
  readonly origin: CallOrigin
  /** Its span in the trace. Absent: the request's. */
  readonly trace?: TraceContext | undefined
  /** The conversation that the call continues, if its caller names no session. */
  readonly prompt?: Prompt | undefined
  readonly forwarded?: GenerationRequest['forwarded']
}

const providers: ReadonlySet<ProfileName> = new Set(['anthropic', 'together', 'fireworks', 'groq'])

/** The number of exchanges for each request: an engine may adopt the id as its own, so it must be unique. */
const exchanges = new WeakMap<CallOrigin, number>()

/** The headers about the request of one exchange, besides those of the protocol. */
export function callHeaders(call: OutgoingCall, options: CallHeaderOptions): Readonly<Record<string, string>> {
  const { origin, endpoint, kind, trace = origin.trace } = call
  const count = (exchanges.get(origin) ?? 0) + 1
  exchanges.set(origin, count)
  const isProvider = providers.has(kind) || isAtProvider(endpoint)
  return {
    'x-request-id': count === 1 ? origin.id : `${origin.id}-${count}`,
    ...traceHeaders(trace, isProvider),
    ...(endpoint.isRouter === true && !isProvider && forRouter(call, options)),
  }
}

/** Parsing a URL takes longer than everything else here. */
const atProviders = new WeakMap<OutgoingCall['endpoint'], boolean>()

function isAtProvider(endpoint: OutgoingCall['endpoint']): boolean {
  const known = atProviders.get(endpoint)
  if (known !== undefined) return known
  const isOne = providerAt(endpoint.url) !== undefined
  atProviders.set(endpoint, isOne)
  return isOne
}

/** The trace's state goes only to one's own servers: it may name tenants. */
function traceHeaders(trace: TraceContext | undefined, isProvider: boolean): Readonly<Record<string, string>> {
  if (trace === undefined) return {}
  const { traceparent, tracestate } = trace
  return { traceparent, ...(tracestate !== undefined && !isProvider && { tracestate }) }
}

function forRouter(call: OutgoingCall, { router, objectives, hash }: CallHeaderOptions): Readonly<Record<string, string>> {
  const names = routerHeaders[router]
  const { caller, lane = 'interactive' } = call.origin
  const session = names.session.length === 0 ? undefined : sessionOf(call)
  const objective = objectives[lane]
  return {
    ...(session !== undefined && named(names.session, hash(`${caller}\n${session}`))),
    ...named(names.fairness, caller.replaceAll(/[^\x21-\x7e]/g, '_')),
    ...(objective !== undefined && named(names.objective, objective)),
  }
}

/** Identifies the client: the caller and its session, or a substitute for the session. */
export function clientOf(call: Pick<GenerationRequest, 'origin'> & Pick<OutgoingCall, 'prompt' | 'forwarded'>): string {
  const { origin } = call
  return origin === undefined ? '' : `${origin.caller}\n${sessionOf({ ...call, origin }) ?? ''}`
}

function named(names: readonly string[], value: string): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, value]))
}

/** The part that all turns of a conversation share. */
function sessionOf({ origin, prompt, forwarded }: Pick<OutgoingCall, 'origin' | 'prompt' | 'forwarded'>): string | undefined {
  const { session } = origin
  if (session !== undefined) return `session ${session}`
  const key = forwarded?.promptCacheKey
  if (key !== undefined && key !== '') return `key ${key}`
  return prompt === undefined ? undefined : `prompt ${beginningOf(prompt)}`
}

const beginningChars = 2048

/** A conversation up to its first question, or the beginning of a text. */
function beginningOf(prompt: Prompt): string {
  switch (prompt.type) {
    case 'chat': {
      const { messages } = prompt
      const first = messages.slice(0, messages.findIndex(({ role }) => role === 'user') + 1 || messages.length)
      const contents = first.map((message) => (message.role === 'assistant' ? message.parts : message.content))
      return JSON.stringify(contents.map((parts) => parts.map((part) => (part.type === 'media' ? bytesOf(part).sha256 : part))))
    }
    case 'text':
      return prompt.text.slice(0, beginningChars)
    case 'tokens':
      return prompt.tokens.slice(0, beginningChars).join()
    case 'infill':
      return prompt.prefix.slice(0, beginningChars)
  }
}
