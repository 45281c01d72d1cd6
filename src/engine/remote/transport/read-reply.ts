import { type Emit, inTurn } from '../../../base/emit.ts'
import { SseDecoder, type SseEvent } from '../../../base/text/sse-decoder.ts'
import { unlessLong } from '../../../base/turn.ts'
import type { ReplyBody } from './http-exchange.ts'
import type { JsonBounds } from './json-reader.ts'
import { excess } from './upstream-error.ts'
import { parseJson, replyBounds, WholeJson } from './whole-json.ts'

/** How a complete reply ended: with or without the server's declaration that it is complete. */
export type StreamEnd = { readonly saidDone: boolean }

/**
 * Passes on the JSON of each event of a stream, in the tick in which its bytes arrive, or the JSON of a reply that is not streamed. The
 * first character decides which it is: content types are wrong too often. An event named `error` becomes an `error` object. Resolves at the
 * end of the reply, or closes the connection as soon as `isEnough`. Rejects as `ReplyBody.consume` does.
 */
export async function readStream(body: ReplyBody, take: Emit<unknown>, isEnough = () => false): Promise<StreamEnd> {
  let decoder: SseDecoder | undefined
  let json: WholeJson | undefined
  let isOver = false
  const takeEvent = (event: SseEvent): Promise<void> | undefined => {
    // If this turn of the event loop has taken long, the next event waits for another turn, so that other work can run.
    return unlessLong()?.then(() => takeNow(event)) ?? takeNow(event)
  }
  const takeNow = ({ data, event }: SseEvent): Promise<void> | undefined => {
    if (isOver || isEnough()) return undefined
    // Some servers send more than one space after the colon.
    const text = data.trim()
    if (text === '') return undefined
    isOver = text === '[DONE]'
    if (isOver) return undefined
    return take(event === 'error' ? asErrorObject(text) : parseJson(text))
  }
  const leaveWhenDone = () => {
    // Only a connection whose reply has ended can be used again.
    if (isOver) body.drain()
    else if (isEnough()) body.leave()
  }
  const takeBytes = (bytes: Buffer): Promise<void> | undefined => {
    if (decoder === undefined && json === undefined) {
      const start = firstVisible(bytes)
      if (start === undefined) return undefined
      if (start === '{' || start === '[' || start === '<') json = new WholeJson(replyBounds)
      else decoder = new SseDecoder(excess)
    }
    if (json !== undefined) {
      json.push(bytes)
      return undefined
    }
    const pending = inTurn(decoder?.push(bytes) ?? [], takeEvent)
    if (pending !== undefined) return pending.then(leaveWhenDone)
    leaveWhenDone()
    return undefined
  }
  try {
    await body.consume((bytes) => unlessLong()?.then(() => takeBytes(bytes)) ?? takeBytes(bytes))
    if (json !== undefined) await take(json.end())
    return { saidDone: isOver || json !== undefined }
  } finally {
    json?.release()
  }
}

/** The JSON of a reply that is not streamed. */
export async function readWhole(body: ReplyBody, bounds: JsonBounds): Promise<unknown> {
  const json = new WholeJson(bounds)
  try {
    await body.consume((bytes) => {
      json.push(bytes)
      return unlessLong()
    })
    return json.end()
  } finally {
    json.release()
  }
}

function asErrorObject(text: string): unknown {
  try {
    return { error: parseJson(text) }
  } catch {
    return { error: text }
  }
}

/** The first character that is neither white space nor a byte order mark. */
function firstVisible(bytes: Buffer): string | undefined {
  const code = bytes[0] ?? 0
  if (code > 0x20 && code < 0x7f) return String.fromCharCode(code)
  const first = (part: Buffer) => /[^\s\ufeff]/.exec(part.toString('utf8'))?.[0]
  // Nearly always near the start; some servers send white space first, to keep the connection alive.
  return first(bytes.subarray(0, 64)) ?? first(bytes)
}
