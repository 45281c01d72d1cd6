import { AppError, messageOf } from '../../core/errors.ts'
import type { ReplyBody } from './exchange.ts'
import { SseDecoder } from './sse-decoder.ts'
import { withFailure } from './upstream-failure.ts'

/** The most of a whole reply; embeddings are the largest. */
const maxReplyBytes = 256 * 1024 * 1024

/**
 * The JSON of a stream's events, those that came together in one list, or, from a server that does not stream, of the whole reply:
 * which of the two it is, is seen by how it begins, for not all servers say so. An event named `error` becomes an `error` object.
 * Leaving the iteration ends the connection, unless the reply was over.
 */
export async function* readStream(body: ReplyBody): AsyncGenerator<readonly unknown[], void, void> {
  let isOver = false
  try {
    let decoder: SseDecoder | undefined
    for (let bytes = await body.read(); bytes !== undefined; bytes = await body.read()) {
      if (decoder === undefined) {
        const start = firstVisible(bytes)
        if (start === undefined) continue
        if (start === '{' || start === '[' || start === '<') {
          yield [parseJson(Buffer.concat([bytes, await body.readAll(maxReplyBytes)]).toString('utf8'))]
          isOver = true
          return
        }
        decoder = new SseDecoder()
      }
      const values: unknown[] = []
      let broken: { readonly error: unknown } | undefined
      for (const { data, event } of decoder.push(bytes)) {
        // Some servers put more than one space in front.
        const text = data.trim()
        isOver = text === '[DONE]'
        if (isOver) break
        if (text === '') continue
        try {
          values.push(event === 'error' ? asErrorObject(text) : parseJson(text))
        } catch (error) {
          broken = { error }
          break
        }
      }
      if (values.length > 0) yield values
      // What came before it in the same packet counts.
      if (broken !== undefined) throw broken.error
      if (isOver) return
    }
  } finally {
    // A connection that still carries a reply is never used again.
    if (isOver) body.drain()
    else body.leave()
  }
}

/** The whole JSON reply. */
export async function readWhole(body: ReplyBody): Promise<unknown> {
  return parseJson((await body.readAll(maxReplyBytes)).toString('utf8'))
}

/** A reply that broke off, unless the caller ended it. */
export function asCut(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof AppError) return error
  const message = `the connection to the server behind this model broke in the middle of its answer: ${messageOf(error)}`
  return withFailure(new AppError('engine-failed', message, { cause: error }), { type: 'cut' })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    const start = text.length > 100 ? `${text.slice(0, 100)}…` : text
    const message = `the server behind this model sent something that is no JSON: ${start}`
    throw withFailure(new AppError('engine-failed', message, { cause }), { type: 'cut' })
  }
}

function asErrorObject(text: string): unknown {
  try {
    return { error: JSON.parse(text) }
  } catch {
    return { error: text }
  }
}

/** The first character that is neither white space nor a byte order mark. */
function firstVisible(bytes: Buffer): string | undefined {
  return /[^\s\ufeff]/.exec(bytes.subarray(0, 1024).toString('utf8'))?.[0]
}
