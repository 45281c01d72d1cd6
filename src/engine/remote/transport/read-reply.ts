import { type Emit, inTurn } from '../../../contract/emit.ts'
import { Collector, type ReplyBody } from './http-exchange.ts'
import { SseDecoder, type SseEvent } from './sse-decoder.ts'
import { UpstreamError } from './upstream-error.ts'

/** How a reply ended that did not break off: with the server's word that it is complete, or without. */
export type StreamEnd = { readonly saidDone: boolean }

/** Embeddings are the largest replies. */
const maxReplyBytes = 256 * 1024 * 1024

/**
 * Passes on the JSON of each event of a stream, in the tick in which its bytes arrive, or the JSON of a reply that is not
 * streamed. The first character decides which of the two it is: content types are wrong too often. An event named `error`
 * becomes an `error` object. Resolves at the end of the reply, or closes the connection as soon as `isEnough`; rejects as
 * `ReplyBody.consume` does.
 */
export async function readStream(body: ReplyBody, take: Emit<unknown>, isEnough = () => false): Promise<StreamEnd> {
  let decoder: SseDecoder | undefined
  let json: Collector | undefined
  let isOver = false
  const takeEvent = ({ data, event }: SseEvent): Promise<void> | undefined => {
    // Some servers send more than one space after the colon.
    const text = data.trim()
    if (text === '' || isOver || isEnough()) return undefined
    isOver = text === '[DONE]'
    if (isOver) return undefined
    return take(event === 'error' ? asErrorObject(text) : parseJson(text))
  }
  const leaveWhenDone = () => {
    // Only a connection whose reply has ended can be used again.
    if (isOver) body.drain()
    else if (isEnough()) body.leave()
  }
  await body.consume((bytes) => {
    if (decoder === undefined && json === undefined) {
      const start = firstVisible(bytes)
      if (start === undefined) return undefined
      if (start === '{' || start === '[' || start === '<') json = new Collector(maxReplyBytes)
      else decoder = new SseDecoder()
    }
    json?.push(bytes)
    const pending = inTurn(decoder?.push(bytes) ?? [], takeEvent)
    if (pending !== undefined) return pending.then(leaveWhenDone)
    leaveWhenDone()
    return undefined
  })
  if (json !== undefined) await take(parseJson(json.join().toString('utf8')))
  return { saidDone: isOver || json !== undefined }
}

/** The JSON of a reply that is not streamed. */
export async function readWhole(body: ReplyBody): Promise<unknown> {
  return parseJson((await body.readAll(maxReplyBytes)).toString('utf8'))
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    const start = text.length > 100 ? `${text.slice(0, 100)}…` : text
    const message = `the server behind this model sent something that is not JSON: ${start}`
    throw new UpstreamError({ type: 'malformed' }, message, { cause })
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
  const first = (part: Buffer) => /[^\s\ufeff]/.exec(part.toString('utf8'))?.[0]
  // Nearly always near the start; some servers send white space first, to keep the connection alive.
  return first(bytes.subarray(0, 64)) ?? first(bytes)
}
