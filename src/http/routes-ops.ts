import type { FastifyInstance } from 'fastify'
import type { ServerDeps } from './deps.ts'

/** Health, readiness and metrics, for operators. */
export function addOpsRoutes(app: FastifyInstance, { models, metrics, version }: ServerDeps): void {
  app.get('/health', { config: { scope: 'public' } }, () => ({ status: 'ok', version }))

  app.get('/ready', { config: { scope: 'public' } }, (_request, reply) => {
    const awaited = models.list().filter(({ loadsAtStart }) => loadsAtStart)
    const isReady = awaited.every(({ state }) => state.type === 'ready')
    // Without failure reasons: this route is public, and they may name files.
    const states = awaited.map(({ id, state }) => ({
      id,
      state: state.type,
      ...(state.type === 'loading' && { progress: state.progress }),
    }))
    return reply.code(isReady ? 200 : 503).send({ status: isReady ? 'ready' : 'not-ready', models: states })
  })

  app.get('/metrics', { config: { scope: 'admin' } }, async (_request, reply) => {
    return reply.type(metrics.contentType).send(await metrics.render())
  })
}
