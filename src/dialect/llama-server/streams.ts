import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import { list, looseObject } from '../wire/first-fault.ts'
import { flag, list as listOf, number, object, text } from '../wire/json/shapes.ts'
import { validate } from '../wire/validate.ts'

export type StreamQuery = { readonly Querystring: { readonly conv_id?: string; readonly from?: string } }

export const streamQuerySchema = object({ conv_id: text, from: text.optional() })

/** Throws `invalid-request`. */
export function decodeStreamQuery({ conv_id, from = '0' }: StreamQuery['Querystring']): {
  readonly id: string
  readonly from: number
} {
  if (typeof conv_id !== 'string' || conv_id === '') {
    throw new AppError('invalid-request', 'conv_id is missing: send the id of a conversation', { param: 'conv_id' })
  }
  if (/^\d{1,15}$/.test(from)) return { id: conv_id, from: Number(from) }
  throw new AppError('invalid-request', `Invalid 'from' offset: expected a number of bytes, got '${from.slice(0, 100)}'`, {
    param: 'from',
  })
}

const maxIds = 10_000
const tooMany = { count: maxIds, error: `at most ${maxIds} ids` }
export const lookupSchema = looseObject({
  conversation_ids: list(z.string(), { error: 'an array of strings', max: tooMany }).nullish(),
})

/** The conversations whose streams a client looks for. */
export function decodeLookup(body: unknown): readonly string[] {
  return validate(lookupSchema, body).conversation_ids ?? []
}

/** Times are seconds of the epoch; `completed_at` is 0 while the stream runs. */
export const streamList = listOf(
  object({ conversation_id: text, is_done: flag, total_bytes: number, started_at: number, completed_at: number }),
)

type Shown = {
  readonly id: string
  readonly isDone: boolean
  readonly totalBytes: number
  readonly startedAtMs: number
  readonly endedAtMs?: number | undefined
}

export function encodeStreams(streams: readonly Shown[]): z.input<typeof streamList> {
  return streams.map(({ id, isDone, totalBytes, startedAtMs, endedAtMs = 0 }) => ({
    conversation_id: id,
    is_done: isDone,
    total_bytes: totalBytes,
    started_at: Math.floor(startedAtMs / 1000),
    completed_at: Math.floor(endedAtMs / 1000),
  }))
}

export const controlSchema = looseObject({ action: z.string().nullish(), id: z.string().nullish() })
export const controlled = object({ success: flag, message: text })

/** The reply to llama-server's `control`: no engine ends the reasoning of a generation that runs. Throws `invalid-request`. */
export function decodeControl(body: unknown): z.input<typeof controlled> {
  const { action, id } = validate(controlSchema, body)
  if (action !== 'reasoning_end') {
    throw new AppError('invalid-request', `action: expected 'reasoning_end', got '${String(action).slice(0, 100)}'`, {
      param: 'action',
    })
  }
  if (id === undefined || id === null || id === '') {
    throw new AppError('invalid-request', 'id is missing: send the id of a running chat completion', { param: 'id' })
  }
  const message =
    'the reasoning of a running reply cannot be ended here: stop the reply, and ask again with enable_thinking false'
  return { success: false, message }
}
