import type { FastifyInstance, FastifyRequest } from 'fastify'
import { redactBody, redactHeaders, redactUrl } from './redact.ts'

/** A request as it came, without secrets, in the form of the recordings in test/clients. */
export type CapturedRequest = {
  readonly client: string
  readonly version: string
  /** When it came, its id, and the status of its reply. */
  readonly how: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Null: none came, or none that is JSON. */
  readonly body: unknown
  /** Its caller might do that. False also where the caller left before it was decided. */
  readonly isAllowed: boolean
}

/** Keeps a request, under a name that sorts by time and is part of a file's. */
export type Capture = (name: string, request: CapturedRequest) => void

type CaptureDeps = { readonly keep: Capture; wallClock(): number }

/** Passes on each request when its reply has ended: not those for health and metrics, nor what is asked again and again. */
export function addCapture(app: FastifyInstance, { keep, wallClock }: CaptureDeps): void {
  const bodies = new WeakMap<FastifyRequest, Buffer[]>()
  const isKept = ({ method, routeOptions: { config } }: FastifyRequest) =>
    method !== 'OPTIONS' && config.scope !== 'public' && config.scope !== 'metrics' && config.isPolled !== true

  app.addHook('onRequest', (request, { raw }, done) => {
    if (isKept(request)) {
      const came = new Date(wallClock()).toISOString()
      let isEnded = false
      raw.once('finish', () => {
        isEnded = true
      })
      raw.once('close', () => {
        const agent = request.headers['user-agent'] ?? ''
        const status = isEnded ? `answered ${raw.statusCode}` : 'left before the reply ended'
        keep(`${came.replaceAll(':', '-')}-${fileIdOf(request.id)}`, {
          client: /^[^\s/]+/.exec(agent)?.[0] ?? 'unknown',
          // Some have a language before it: OpenAI/Python 1.2.
          version: /[\s/](v?\d\S*)/.exec(agent)?.[1] ?? '',
          how: `captured ${came}, request ${request.id}, ${status}`,
          method: request.method,
          path: redactUrl(request.originalUrl),
          headers: redactHeaders(request.headers),
          body: redactBody(parsed(bodies.get(request) ?? [])),
          // The models and tools of a key are looked at after its scopes: the head of a reply says that nothing was missing.
          isAllowed: request.principal !== undefined && raw.headersSent && raw.statusCode !== 401 && raw.statusCode !== 403,
        })
      })
    }
    done()
  })
  app.addHook('preParsing', (request, _reply, payload, done) => {
    // Forms are not kept, and may be large.
    if (isKept(request) && request.routeOptions.config.takesUploads !== true) {
      const pieces: Buffer[] = []
      bodies.set(request, pieces)
      payload.on('data', (piece: Buffer) => pieces.push(piece))
    }
    done(null, payload)
  })
}

/** An id as a part of a file's name. */
export function fileIdOf(requestId: string): string {
  return requestId.replace(/[^\w-]/g, '_').slice(0, 60)
}

function parsed(pieces: readonly Buffer[]): unknown {
  try {
    return JSON.parse(Buffer.concat(pieces).toString())
  } catch {
    return null
  }
}
