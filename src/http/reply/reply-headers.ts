import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OnPlaced } from '../../contract/call-origin.ts'
import type { DecodedCall } from '../../contract/dialect.ts'
import type { StartEvent, Timings } from '../../contract/event.ts'
import type { KeyQuota, LimitState } from '../../contract/quota.ts'
import type { ToolCallState } from '../../contract/request.ts'
import type { PromptChange } from '../../contract/usage.ts'
import { encodeOpenaiLimits } from '../../dialect/openai/limit-headers.ts'

/** Proxies reject much longer headers. */
const maxIgnoredChars = 1024

const timingNames: Readonly<Record<keyof Timings, string>> = {
  queueMs: 'queue',
  loadMs: 'load',
  templateMs: 'template',
  prefillMs: 'prefill',
  firstTokenMs: 'ttft',
  decodeMs: 'decode',
  totalMs: 'total',
}

const timingEntries = Object.entries(timingNames) as readonly [keyof Timings, string][]

/** Field names in a header and paths, percent-encoded where necessary; a final `...` means more. */
export function encodeFields(fields: readonly string[]): string {
  let value = ''
  for (const field of fields) {
    // Avoids encoding megabytes of a name that is too long anyway.
    const next = (value === '' ? '' : ', ') + encodeToken(field.slice(0, maxIgnoredChars + 1))
    if (value.length + next.length > maxIgnoredChars) return value === '' ? '...' : `${value}, ...`
    value += next
  }
  return value
}

/** The value of `x-dragoman-prefix`, such as `messages[3];part=text;change=date;missed=18412`. */
function encodeChange({ part, kind, missedTokens }: PromptChange, place: string): string {
  return `${encodeFields([place])};part=${part}${kind === undefined ? '' : `;change=${kind}`};missed=${missedTokens}`
}

/** Names fields without effect, if there are any. */
export function addIgnored(reply: FastifyReply, fields: readonly string[]): void {
  const header = encodeFields(fields)
  if (header !== '') reply.header('x-dragoman-ignored', header)
}

/** A call whose arguments were repaired, or could not be parsed. */
export type UnparsedCall = { readonly id: string; readonly state: Exclude<ToolCallState, 'ok'> }

const maxUnparsedCalls = 16

/** The value of `x-dragoman-calls`, such as `call_1;state=repaired`; a final `...` means more. */
export function encodeUnparsedCalls(calls: readonly UnparsedCall[]): string {
  const shown = calls.slice(0, maxUnparsedCalls).map(({ id, state }) => `${encodeToken(id.slice(0, 64))};state=${state}`)
  return [...shown, ...(calls.length > maxUnparsedCalls ? ['...'] : [])].join(', ')
}

/** The value of `server-timing`: the known durations, in whole milliseconds. */
export function encodeServerTiming(timings: Timings): string {
  let value = ''
  for (const [key, name] of timingEntries) {
    const durationMs = timings[key]
    if (durationMs !== undefined) value += `${value === '' ? '' : ', '}${name};dur=${Math.round(durationMs)}`
  }
  return value
}

function encodeToken(text: string): string {
  return text.replace(/[^!#$&'*+\-.[\]^_`|~\w]/gu, (char) =>
    Buffer.from(char).toString('hex').toUpperCase().replace(/../g, '%$&'),
  )
}

export function addStartHeaders(
  { model, insteadOf, structured, preset, diverged, ignored, shortened }: StartEvent,
  call: Pick<DecodedCall, 'ignored' | 'nameOf'>,
  reply: FastifyReply,
): void {
  if (ignored !== undefined) {
    // As for unknown fields, without indices.
    const names = ignored.map((path) => call.nameOf(path).replace(/\[\d+\]/g, '[]'))
    addIgnored(reply, [...call.ignored, ...names])
  }
  if (insteadOf !== undefined) reply.header('x-dragoman-served-model', model.replace(/[^\x21-\x7e]+/g, encodeURIComponent))
  if (shortened !== undefined) {
    const name = encodeToken(call.nameOf(['maxOutputTokens']))
    reply.header('x-dragoman-shortened', `${name};asked=${shortened.asked};room=${shortened.room}`)
  }
  if (structured !== undefined) reply.header('x-dragoman-structured', structured)
  if (preset !== undefined) reply.header('x-dragoman-preset', preset)
  if (diverged !== undefined) reply.header('x-dragoman-prefix', encodeChange(diverged, call.nameOf(diverged.at)))
}

/** Reports how the server of a request was chosen; after several attempts, the last before the reply began. */
export function reportAffinity(reply: FastifyReply): OnPlaced {
  return (affinity) => {
    if (!reply.sent) reply.header('x-dragoman-affinity', affinity)
  }
}

/** The headers about limits, in the form of one protocol. `nowMs` is the time of the epoch. */
export type EncodeLimits = (states: readonly LimitState[], nowMs: number) => Readonly<Record<string, string>>

/** The rest of the limits of a key; absent: no key has limits. */
export type LimitReader = { readLimits?(quota: KeyQuota): readonly LimitState[] }

/** Adds the headers about the limits of a request's key, if it has any. */
export function addLimitHeaders({ readLimits }: LimitReader, request: FastifyRequest, reply: FastifyReply): void {
  const { principal, routeOptions } = request
  if (principal?.quota === undefined || readLimits === undefined) return
  const encode = routeOptions.config.encodeLimits?.(request) ?? encodeOpenaiLimits
  reply.headers(encode(readLimits(principal.quota), Date.now()))
}
