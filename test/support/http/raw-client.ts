import { type ClientRequest, type IncomingMessage, request } from 'node:http'

/** A chat request on a connection of its own, which the test can cut at any time. */
export type RawStream = {
  /** Resolves with the reply's head; rejects when the connection is cut before. */
  readonly head: Promise<IncomingMessage>
  /** The text of the body so far. */
  readonly text: () => string
  /** Resolves when the body holds `part`. */
  readonly untilText: (part: string) => Promise<void>
  /** Resolves when something was said; the chunk that names the role says nothing. */
  readonly untilContent: () => Promise<void>
  /** Resolves when the reply has ended, however it did. */
  readonly ended: Promise<void>
  readonly hangUp: () => void
}

/** `url`: of the server, or of another route that streams. */
export function openChat(url: string, body: object, more: Record<string, string> = {}): RawStream {
  let received = ''
  const watchers = new Set<() => void>()
  const json = JSON.stringify(body)
  let outgoing: ClientRequest | undefined
  const head = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing = request(new URL(url).pathname === '/' ? `${url}/v1/chat/completions` : url, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json), ...more },
    })
    outgoing.once('response', resolve)
    outgoing.once('error', reject)
    outgoing.end(json)
  })
  head.catch(() => undefined)
  const ended = head.then(
    (reply) =>
      new Promise<void>((resolve) => {
        reply.setEncoding('utf8')
        reply.on('data', (piece: string) => {
          received += piece
          for (const watcher of watchers) watcher()
        })
        reply.once('error', () => undefined)
        reply.once('close', resolve)
      }),
    () => undefined,
  )
  const untilTrue = (isTrue: () => boolean, what: string) =>
    new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`${what} did not come, but ${JSON.stringify(received)}`)), 50_000)
      const watcher = () => {
        if (!isTrue()) return
        clearTimeout(late)
        watchers.delete(watcher)
        resolve()
      }
      watchers.add(watcher)
      watcher()
    })
  return {
    head,
    ended,
    text: () => received,
    untilText: (part) => untilTrue(() => received.includes(part), JSON.stringify(part)),
    untilContent: () => untilTrue(() => /"content":"[^"]/.test(received), 'content'),
    hangUp: () => outgoing?.destroy(),
  }
}

/** The JSON of each `data` line of a stream, in order, without `[DONE]`. */
export function dataOf(
  text: string,
): { error?: { message: string; code: string }; choices?: { delta: { content?: string } }[] }[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: ') && line !== 'data: [DONE]')
    .map((line) => JSON.parse(line.slice('data: '.length)))
}
