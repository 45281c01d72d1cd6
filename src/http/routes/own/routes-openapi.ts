import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ServedRoute } from '../../access/route-guard.ts'
import { otherPathsOf } from '../mounts.ts'

type DocsDeps = { readonly version: string; readonly servedRoutes: () => readonly ServedRoute[] }
type Part = { readonly bytes: Buffer; readonly type: string; readonly etag: string; readonly headers?: Record<string, string> }

/** A page that opens this one gets no access to its window. */
const docsGuards = { 'cross-origin-opener-policy': 'same-origin' }

/** The description of all routes, for programs and for people. It names no model and no setting: it is public, like its source. */
export function addOpenapiRoutes(app: FastifyInstance, { version, servedRoutes }: DocsDeps): void {
  // Created on demand, including the modules that create it: until then, it takes no memory.
  const document = once(async () => {
    const { buildDocument } = await import('../../openapi/build-document.ts')
    const text = JSON.stringify(buildDocument({ routes: servedRoutes(), version, otherPathsOf }))
    return partOf(text, 'application/json; charset=utf-8')
  })
  const page = once(async () => {
    const { docsPage, docsPolicy } = await import('../../openapi/docs-page.ts')
    return { ...partOf(docsPage, 'text/html; charset=utf-8'), headers: { ...docsGuards, 'content-security-policy': docsPolicy } }
  })
  app.get('/openapi.json', { config: { scope: 'public' } }, async (request, reply) => answer(await document(), request, reply))
  app.get('/docs', { config: { scope: 'public' } }, async (request, reply) => {
    // The page's links are relative, so its path must not end in a slash.
    if (/\/(\?|$)/.test(request.originalUrl)) return reply.redirect('../docs')
    return answer(await page(), request, reply)
  })
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make()
    return made
  }
}

function partOf(text: string, type: string): Part {
  const bytes = Buffer.from(text)
  return { bytes, type, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` }
}

function answer({ bytes, type, etag, headers = {} }: Part, { headers: sent }: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.headers({ etag, 'cache-control': 'no-cache', ...headers })
  const isKnown = sent['if-none-match']?.split(',').some((each) => each.trim().replace(/^W\//, '') === etag) === true
  return isKnown ? reply.code(304).send() : reply.type(type).send(bytes)
}
