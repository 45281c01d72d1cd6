import { request as httpRequest, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { type RunningApp, startApp } from '../http/app.ts'
import { listenOnLoopback } from './loopback.ts'

/** A call as it arrived at an engine. */
export type Arrived = { readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: Record<string, unknown> }

export type RecordingEngine = {
  readonly origin: string
  /** The calls that arrived: all that is not a GET. */
  readonly arrived: Arrived[]
  /** Requests that wait or generate now. */
  readonly active: () => number
  close(): Promise<void>
}

/** What a user message that is JSON may ask of the engine instead of a reply. */
type Script = { readonly status?: number; readonly retryAfter?: string }

/**
 * A scripted Dragoman as an engine, behind a server that notes what arrives. A last message `{"status": 503, "retryAfter": "1"}` is answered
 * so; all else is the script of the fake engine.
 */
export async function startRecordingEngine(models: Parameters<typeof startApp>[0]['models']): Promise<RecordingEngine> {
  const app: RunningApp = await startApp({ builtinModel: false, models })
  const arrived: Arrived[] = []
  let active = 0
  const { origin, close } = await listenOnLoopback(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const bytes = Buffer.concat(pieces)
    const { url: path = '', method = 'GET', headers } = request
    if (method === 'POST') {
      const body = bytes.length === 0 ? {} : JSON.parse(bytes.toString())
      arrived.push({ path, headers, body })
      active += 1
      response.once('close', () => {
        active -= 1
      })
      if (answerAsAsked(body, response)) return
    }
    const { host: _, connection: __, ...sent } = headers
    const onward = httpRequest(`${app.url}${path}`, { method, headers: sent }, (reply) => {
      response.writeHead(reply.statusCode ?? 500, reply.headers)
      reply.pipe(response)
    })
    onward.on('error', () => response.destroy())
    response.once('close', () => onward.destroy())
    onward.end(bytes)
  })
  return {
    origin,
    arrived,
    active: () => active,
    close: async () => {
      await close()
      await app.close()
    },
  }
}

function answerAsAsked(
  body: { readonly messages?: readonly { readonly content?: unknown }[] },
  response: ServerResponse,
): boolean {
  const { status, retryAfter } = scriptOf(body.messages?.at(-1)?.content)
  if (status === undefined) return false
  const headers = { 'content-type': 'application/json', ...(retryAfter !== undefined && { 'retry-after': retryAfter }) }
  response.writeHead(status, headers)
  response.end(JSON.stringify({ error: { message: 'as asked', type: 'server_error', code: status } }))
  return true
}

function scriptOf(content: unknown): Script {
  const text = typeof content === 'string' ? content : Array.isArray(content) ? String(content[0]?.text) : ''
  try {
    return text.startsWith('{') ? JSON.parse(text) : {}
  } catch {
    return {}
  }
}
