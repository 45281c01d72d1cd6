import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../../contract/errors.ts'
import { callerOf } from '../../access/caller.ts'
import type { Listening, PageFile, PageFiles } from '../../run/deps.ts'

/**
 * Allows its own scripts, styles and fonts, requests to this server, and pictures and sounds that a reader attached: nothing else is loaded, and nothing may
 * frame it.
 */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  'media-src data:',
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const guards = {
  'content-security-policy': pagePolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  // A page that opens this one gets no access to its window.
  'cross-origin-opener-policy': 'same-origin',
}

/** The files of the page, and its caller. The page itself is `/`, for browsers. */
export function addPageRoutes(app: FastifyInstance, { page }: Pick<Listening, 'page'>): void {
  app.get<{ Params: { name: string } }>('/page/:name', { config: { scope: 'public' } }, async (request, reply) => {
    const file = await page?.read(`page/${request.params.name}`)
    if (file === undefined) {
      throw new AppError(
        'not-found',
        `the page has no file '${request.params.name}': reload it, another version may be served now`,
      )
    }
    // Their names contain a hash of their contents.
    reply.headers({ ...guards, 'cache-control': 'public, max-age=31536000, immutable' })
    return sendFile(file, request, reply)
  })

  // The page shows what a key's scopes allow.
  app.get('/api/caller', { config: { scope: 'any' } }, (request) => {
    const { id, scopes, models } = callerOf(request)
    return { id, scopes: [...scopes].filter((scope) => scope !== 'public'), ...(models !== undefined && { models }) }
  })
}

/** Sends the document. Its addresses are relative, so that a proxy may serve it below a prefix; a known prefix may lack its last slash. */
export async function sendPage(
  page: PageFiles,
  request: FastifyRequest,
  reply: FastifyReply,
  basePath: string,
): Promise<FastifyReply> {
  const file = await page.read('index.html')
  if (file === undefined) throw new Error('the page has no document')
  reply.headers({ ...guards, 'cache-control': 'no-cache' })
  if (basePath === '') return sendFile(file, request, reply)
  const text = file.plain.toString().replace('<head>', `<head><base href="${basePath}/">`)
  return reply.type(file.type).send(text)
}

function sendFile(file: PageFile, { headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { type, etag, plain } = file
  const known = headers['if-none-match']?.split(',').map((each) => each.trim().replace(/^W\//, ''))
  reply.headers({ etag, vary: 'accept, accept-encoding' })
  if (known?.includes(etag) === true) return reply.code(304).send()
  const accepted = String(headers['accept-encoding'] ?? '')
  const encoding = (['br', 'gzip'] as const).find((name) =>
    new RegExp(`\\b${name}\\b(?!\\s*;\\s*q=0(\\.0*)?(,|$))`).test(accepted),
  )
  const compressed = encoding === undefined ? undefined : file[encoding]
  if (compressed !== undefined) reply.header('content-encoding', encoding)
  return reply.type(type).send(compressed ?? plain)
}
