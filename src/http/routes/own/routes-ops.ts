import type { FastifyInstance } from 'fastify'
import type { Models, Operating, Replying, Watching } from '../../run/deps.ts'
import { isReady, readyTopic } from '../../run/readiness.ts'

type OpsDeps = Models & Watching & Operating & Replying & { readonly isDraining: () => boolean }

/** Health, readiness and metrics, for operators. */
export function addOpsRoutes(app: FastifyInstance, { models, metrics, version, siblings, isDraining }: OpsDeps): void {
  // The second is Unsloth's.
  for (const path of ['/health', '/api/health']) {
    app.get(path, { config: { scope: 'public', servesAnyHost: true } }, () => ({ status: 'ok', version }))
  }

  app.get('/ready', { config: { scope: 'public', servesAnyHost: true } }, async (_request, reply) => {
    const all = models.list({})
    const isAllReady = isReady(all, models.known === 'none') && !(await siblings?.publish(readyTopic, {}))?.includes(false)
    const status = isDraining() ? 'draining' : isAllReady ? 'ready' : 'not-ready'
    // Without failure reasons: this route is public, and they may name files.
    const states = all.map(({ id, state, isRequired, standIn }) => ({
      id,
      state: state.type,
      ...(state.type === 'loading' && { progress: state.progress }),
      ...(isRequired === 'yes' && { required: true }),
      ...(standIn !== undefined && { stand_in: standIn }),
    }))
    return reply.code(status === 'ready' ? 200 : 503).send({ status, models: states })
  })

  app.get('/metrics', { config: { scope: 'metrics' } }, async (_request, reply) => {
    return reply.type(metrics.contentType).send(await metrics.render())
  })
}
