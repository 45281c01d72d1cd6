import { isObject } from '../base/json.ts'
import type { JsonObject } from '../contract/request.ts'
import type { BatchUsage, LineResult } from '../contract/server/batches.ts'
import type { LineReply } from './deps.ts'

/** Failures of the server or of an engine, which another try may not have. */
const passing: ReadonlySet<number> = new Set([408, 409, 500, 502, 503, 504, 529])
/** There is no server that answers: also what gateways say of one that starts anew. */
const away: ReadonlySet<number> = new Set([502, 503, 504, 529])
/** Those of them by which no server has begun with the request. */
const notBegun: ReadonlySet<number> = new Set([503, 529])
const maxAttempts = 3
const firstPauseMs = 1000

export type LineOutcome =
  | { readonly type: 'ended'; readonly result: LineResult }
  /** `ofCaller`: all lines of the caller for this model wait, because a limit of its key is reached. */
  | { readonly type: 'again'; readonly afterMs: number; readonly attempts: number; readonly ofCaller?: string }

/** What earlier lines found when nobody answered: `likely` if another line did, and not long ago, so that this one is not the cause. */
export type KnownAway = 'likely' | 'maybe' | undefined

/** Decides by a reply whether its line has ended. `attempts`: those before. */
export function outcomeOf(reply: LineReply, attempts: number, knownAway: KnownAway): LineOutcome {
  const { status, requestId, body, retryAfterMs } = reply
  if (status === 429) return { type: 'again', afterMs: retryAfterMs ?? firstPauseMs, attempts, ofCaller: messageIn(reply) }
  const isInnocent = notBegun.has(status) || (knownAway === 'likely' && isAway(reply))
  if (knownAway !== undefined && isInnocent) return { type: 'again', afterMs: 0, attempts }
  if (passing.has(status) && attempts + 1 < maxAttempts) {
    return { type: 'again', afterMs: retryAfterMs ?? firstPauseMs * 4 ** attempts, attempts: attempts + 1 }
  }
  const ending = isSuccess({ status }) ? 'succeeded' : 'errored'
  const usage = ending === 'succeeded' ? usageOf(body) : undefined
  return { type: 'ended', result: { ending, status, requestId, reply: body, ...(usage !== undefined && { usage }) } }
}

/** The model, or what is behind it, cannot answer any request now. An output that breaks its schema is an answer. */
export function isAway({ status, code }: Pick<LineReply, 'status' | 'code'>): boolean {
  return away.has(status) && code !== 'invalid-output'
}

export function isSuccess({ status }: Pick<LineReply, 'status'>): boolean {
  return status >= 200 && status < 300
}

/** The usage in a reply of any of the protocols of lines. */
function usageOf(body: string): BatchUsage | undefined {
  const { usage } = parseObject(body)
  if (!isObject(usage)) return undefined
  const input = objectIn(usage, 'prompt_tokens_details', 'input_tokens_details')
  const output = objectIn(usage, 'completion_tokens_details', 'output_tokens_details')
  const cached = numberIn(usage, 'cache_read_input_tokens')
  return {
    // Anthropic's input does not include what was cached.
    inputTokens: numberIn(usage, 'prompt_tokens', 'input_tokens') + cached,
    cachedInputTokens: numberIn(input, 'cached_tokens') + cached,
    outputTokens: numberIn(usage, 'completion_tokens', 'output_tokens'),
    reasoningTokens: numberIn(output, 'reasoning_tokens'),
  }
}

/** The message of a reply's error. */
export function messageIn({ status, body }: Pick<LineReply, 'status' | 'body'>): string {
  const { error } = parseObject(body)
  return isObject(error) && typeof error.message === 'string' ? error.message : `the reply has the status ${status}`
}

function parseObject(body: string): JsonObject {
  try {
    const value: unknown = JSON.parse(body)
    return isObject(value) ? (value as JsonObject) : {}
  } catch {
    return {}
  }
}

function objectIn(object: object, ...names: readonly string[]): object {
  return names.map((name) => (object as JsonObject)[name]).find(isObject) ?? {}
}

function numberIn(object: object, ...names: readonly string[]): number {
  return names.map((name) => (object as JsonObject)[name]).find((value) => typeof value === 'number') ?? 0
}
