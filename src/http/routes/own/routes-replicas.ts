import type { FastifyInstance } from 'fastify'
import { AppError } from '../../../contract/errors.ts'
import { encodeOpenaiError } from '../../../dialect/openai/errors.ts'
import { decodeDrain } from '../../../dialect/replicas/requests.ts'
import { answerElsewhere, withElsewhere } from '../../reply/servers-elsewhere.ts'
import type { Models, Operating, Watching } from '../../run/deps.ts'
import { createCallHandler } from '../../run/serve-call.ts'

/** Takes servers of remote models out of use, and back into it. */
export function addReplicaRoutes(app: FastifyInstance, deps: Models & Watching & Operating): void {
  const config = { scope: 'admin', encodeError: encodeOpenaiError } as const
  const add = (url: string, isDraining: boolean) => {
    app.post(
      url,
      { config },
      createCallHandler(deps, (body) => {
        const { model: name, url: server, ignored } = decodeDrain(body)
        const run: ReturnType<Parameters<typeof createCallHandler>[1]>['run'] = async ({ principal, signal }) => {
          const { id, engine } = await deps.models.find(name, principal)
          const { fleet } = engine.capabilities
          if (fleet === undefined) {
            const message = `model '${id}' does not run on other servers: it has none to drain`
            throw new AppError('invalid-request', message, { param: 'model' })
          }
          const found = await withElsewhere(deps.siblings, id, await fleet.setDraining(server, isDraining, signal))
          await deps.choices?.serversDrained({ model: id, urls: found.map(({ url }) => url), isDraining })
          return {
            status: isDraining ? 'draining' : 'in_use',
            model: id,
            servers: found.map(({ host, activeRequests }) => ({ host, active_requests: activeRequests })),
          }
        }
        return { ignored, run }
      }),
    )
  }
  answerElsewhere(deps.siblings, deps.models)
  add('/api/inference/replicas/drain', true)
  add('/api/inference/replicas/undrain', false)
}
