import { type Emit, inTurn } from '../../../contract/emit.ts'
import { Collector, type ReplyBody } from './exchange.ts'
import { SseDecoder, type SseEvent } from './sse-decoder.ts'
import { UpstreamError } from './upstream-error.ts'

/** The most of a whole reply; embeddings are the largest. */
const maxReplyBytes = 256 * 1024 * 1024

/**
 * Takes the JSON of a stream's events, in the tick that they come in, or, from a server that does not stream, of the whole reply:
 * which of the two it is, is seen by how it begins, for not all servers say so. An event named `error` becomes an `error` object.
 * Ends with the reply, or, leaving the connection, as soon as `isEnough`; rejects as `ReplyBody.consume` does.
 */
export async function readStream(body: ReplyBody, take: Emit<unknown>, isEnough = () => false): Promise<void> {
  let decoder: SseDecoder | undefined
  let whole: Collector | undefined
  let isOver = false
  const takeEvent = ({ data, event }: SseEvent): Promise<void> | undefined => {
    // Some servers put more than one space in front.
    const text = data.trim()
    if (text === '' || isOver || isEnough()) return undefined
    isOver = text === '[DONE]'
    if (isOver) return undefined
    return take(event === 'error' ? asErrorObject(text) : parseJson(text))
  }
  const leaveWhenDone = () => {
    // A connection that still carries a reply is never used again.
    if (isOver) body.drain()
    else if (isEnough()) body.leave()
  }
  await body.consume((bytes) => {
    if (decoder === undefined && whole === undefined) {
      const start = firstVisible(bytes)
      if (start === undefined) return undefined
      if (start === '{' || start === '[' || start === '<') whole = new Collector(maxReplyBytes)
      else decoder = new SseDecoder()
    }
    whole?.push(bytes)
    const pending = inTurn(decoder?.push(bytes) ?? [], takeEvent)
    if (pending !== undefined) return pending.then(leaveWhenDone)
    leaveWhenDone()
    return undefined
  })
  if (whole !== undefined) await take(parseJson(whole.join().toString('utf8')))
}

/** The whole JSON reply. */
export async function readWhole(body: ReplyBody): Promise<unknown> {
  return parseJson((await body.readAll(maxReplyBytes)).toString('utf8'))
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    const start = text.length > 100 ? `${text.slice(0, 100)}…` : text
    const message = `the server behind this model sent something that is no JSON: ${start}`
    throw new UpstreamError({ type: 'truncated' }, message, { cause })
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
  // Nearly always among the first: some servers send white space ahead of time, to keep the connection.
  return first(bytes.subarray(0, 64)) ?? first(bytes)
}
