import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { listenOnLoopback } from '../../support/upstream/loopback.ts'

/** A request that went through, and how it was answered: status 0 while it was not. */
export type Seen = {
  /** What the client was doing, as it or we said. */
  readonly call: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly status: number
  readonly reply: string
}

export type RecordingProxy = {
  readonly url: string
  /** Clients say which call begins by a request to this address and the call's name. */
  readonly marks: string
  /** The requests of a call, and of others until the next mark. */
  mark(call: string): void
  /** What was seen since the last time. */
  take(): Seen[]
  close(): Promise<void>
}

const markPath = '/calls-of-the-recorder/'

/** Stands in front of a server, so that a client has its whole conversation, and keeps what it sends. */
export async function openRecordingProxy(target: string): Promise<RecordingProxy> {
  let call = ''
  let seen: Seen[] = []

  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url: path = '', headers } = request
    if (path.startsWith(markPath)) {
      call = decodeURIComponent(path.slice(markPath.length))
      response.end()
      return
    }
    const entry = { call, method, path, headers: flat(headers), body: '', status: 0, reply: '' }
    seen.push(entry)
    const body = await readAll(request)
    entry.body = body.toString('utf8')
    const onward = httpRequest(new URL(path, target), { method, headers: { ...headers, 'accept-encoding': 'identity' } })
    onward.on('error', (error) => response.destroy(error))
    onward.on('response', (answer) => {
      entry.status = answer.statusCode ?? 0
      response.writeHead(entry.status, answer.headers)
      answer.setEncoding('utf8').on('data', (piece: string) => {
        entry.reply += piece
        response.write(piece)
      })
      answer.on('end', () => response.end())
    })
    response.on('close', () => onward.destroy())
    onward.end(body)
  }

  const { origin: url, close } = await listenOnLoopback((request, response) => {
    pass(request, response).catch(() => response.destroy())
  })
  return {
    url,
    marks: url + markPath,
    mark: (name) => {
      call = name
    },
    take: () => {
      const taken = seen
      seen = []
      return taken
    },
    close,
  }
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of stream) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}

function flat(headers: IncomingMessage['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]))
}
