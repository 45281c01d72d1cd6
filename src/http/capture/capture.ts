import type { FastifyInstance, FastifyRequest } from 'fastify'
import { redactBody, redactHeaders, redactUrl } from './redact.ts'

/** A request as received, without secrets, in the form of the recordings in test/clients. */
export type CapturedRequest = {
  readonly client: string
  readonly version: string
  /** The time of its arrival, its id, and the status of its reply. */
  readonly how: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Null without a JSON body. */
  readonly body: unknown
  /** Whether its caller was allowed to send it. Also false if the caller left before that was decided. */
  readonly isAllowed: boolean
}

/** Stores a request under a name that sorts by time, for use in a file name. */
export type Capture = (name: string, request: CapturedRequest) => void

type CaptureDeps = { readonly keep: Capture; wallClock(): number }

/** Passes on each request when its reply has ended, except those for health and metrics, and frequent polling. */
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
          // The models and tools of a key are checked after its scopes; a sent head shows that it passed.
          isAllowed: request.principal !== undefined && raw.headersSent && raw.statusCode !== 401 && raw.statusCode !== 403,
        })
      })
    }
    done()
  })
  app.addHook('preParsing', (request, _reply, payload, done) => {
    // Bodies that handlers read while they arrive are not stored: they may be large.
    const { takesUploads, readsBody } = request.routeOptions.config
    if (isKept(request) && takesUploads !== true && readsBody !== true) {
      const pieces: Buffer[] = []
      bodies.set(request, pieces)
      payload.on('data', (piece: Buffer) => pieces.push(piece))
    }
    done(null, payload)
  })
}

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
