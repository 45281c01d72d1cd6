import { z } from 'zod'
import type { CancelKeys, CancelTarget } from '../../contract/context.ts'
import type { CallInput } from '../../contract/dialect.ts'
import { AppError } from '../../contract/errors.ts'
import { type Field, used } from './field-table.ts'

/** They are stored while their runs last, and some a while longer. */
const maxKeyChars = 256
const tooLong = `a string of at most ${maxKeyChars} characters`
const key = z.string({ error: tooLong }).max(maxKeyChars, { error: tooLong }).nullish()

/** The fields of generating requests by which they can be cancelled, in every protocol. */
export const cancelShape = { cancel_id: key, genkey: key, session_id: key, thread_id: key }
export const cancelFields: readonly Field[] = [
  used(
    'cancel_id',
    'extension: the name of this run, up to 256 characters, for `POST /api/inference/cancel`; also as header `x-dragoman-cancel-id`; `genkey` is ' +
      "KoboldCpp's name of it, for `POST /api/extra/abort`",
    { aliases: ['genkey'] },
  ),
  used('session_id', 'extension: the same for all runs of a session; also as header `x-dragoman-session-id`', {
    aliases: ['thread_id'],
  }),
]

const cancelIdHeader = 'x-dragoman-cancel-id'
const sessionIdHeader = 'x-dragoman-session-id'
/** Session headers of Claude Code, Codex, pi and opencode. */
const agentSessionHeaders = ['x-claude-code-session-id', 'session-id', 'session_id', 'x-session-id', 'x-session-affinity']

/**
 * The keys by which a request can be cancelled. Throws `invalid-request` for a header that is too long or contradicts the body; the body's
 * fields are validated when it is decoded.
 */
export function readCancelKeys({ headers, body }: Pick<CallInput, 'headers' | 'body'>): CancelKeys {
  const agentSession = agentSessionHeaders.map((name) => usableKey(headers[name])).find((id) => id !== undefined)
  const cancelId = pickKey(cancelIdIn(body), headers, { field: 'cancel_id', header: cancelIdHeader })
  const sessionId = pickKey(sessionIn(body), headers, { field: 'session_id', header: sessionIdHeader }) ?? agentSession
  return { ...(cancelId !== undefined && { cancelId }), ...(sessionId !== undefined && { sessionId }) }
}

/** The keys in the body of `POST /api/inference/cancel`. A value that is not a usable key counts as absent. */
export function readCancelTarget(body: unknown): CancelTarget {
  const read = (name: string) => usableKey(fieldOf(body, name))
  const cancelId = cancelIdIn(body)
  const sessionId = sessionIn(body)
  return {
    replyIds: ['completion_id', 'message_id', 'response_id'].map(read).filter((id) => id !== undefined),
    ...(cancelId !== undefined && { cancelId }),
    ...(sessionId !== undefined && { sessionId }),
  }
}

function cancelIdIn(body: unknown): string | undefined {
  return usableKey(fieldOf(body, 'cancel_id')) ?? usableKey(fieldOf(body, 'genkey'))
}

/** Unsloth's clients name a session by its thread, too. */
function sessionIn(body: unknown): string | undefined {
  return usableKey(fieldOf(body, 'session_id')) ?? usableKey(fieldOf(body, 'thread_id'))
}

type Names = { readonly field: string; readonly header: string }

function pickKey(sent: string | undefined, headers: CallInput['headers'], { field, header }: Names): string | undefined {
  const value = headers[header]
  if (value === undefined || value === '') return sent
  const key = usableKey(value)
  if (key === undefined) {
    throw new AppError('invalid-request', `the header ${header}: expected ${tooLong}`, { param: header })
  }
  if (sent === undefined || sent === key) return key
  throw new AppError('invalid-request', `${field} and the header ${header} have different values: send one of them`, {
    param: field,
  })
}

function fieldOf(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null && Object.hasOwn(body, name) ? Reflect.get(body, name) : undefined
}

function usableKey(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= maxKeyChars ? value : undefined
}
