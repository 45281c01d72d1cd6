import type { FastifyInstance } from 'fastify'
import type { Listening, Replying } from '../../run/deps.ts'
import { sendPage } from './routes-page.ts'

/** The page for a person who opens the address in a browser, or checks it with HEAD. It names no model: this route is public. */
export function addRootRoutes(app: FastifyInstance, deps: Pick<Listening, 'basePath' | 'page'> & Replying): void {
  const { version, basePath = '' } = deps
  const title = `Dragoman ${version} is running.`
  const places = [
    ['/v1', 'the base URL for clients'],
    ['/v1/models', 'the models'],
    ['/ready', 'their states'],
    ['/health', 'whether the server runs'],
    ['/docs', 'every route, with its fields and an example'],
  ] as const
  const text = [title, '', ...places.map(([path, what]) => `${(basePath + path).padEnd(basePath.length + 12)}${what}`), ''].join(
    '\n',
  )
  // Relative, unless it is known: a proxy may serve this page below a prefix.
  const start = basePath === '' ? '' : `${basePath}/`
  const items = places.map(([path, what]) => {
    const name = path === '/v1' ? `<code>${basePath}${path}</code>` : `<a href="${start}${path.slice(1)}">${basePath}${path}</a>`
    return `<li>${name}: ${what}</li>`
  })
  const plainPage = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Dragoman</title><p>${title}</p><ul>${items.join('')}</ul></html>\n`

  app.get('/', { config: { scope: 'public' } }, (request, reply) => {
    reply.header('vary', 'accept')
    const wantsPage = /\btext\/html\b/.test(request.headers.accept ?? '')
    if (wantsPage && deps.page !== undefined) return sendPage(deps.page, request, reply, basePath)
    return reply.type(wantsPage ? 'text/html; charset=utf-8' : 'text/plain; charset=utf-8').send(wantsPage ? plainPage : text)
  })

  // Browsers request it by themselves.
  app.get('/favicon.ico', { config: { scope: 'public' } }, (_request, reply) => reply.code(204).send())
}
