import type { FastifyInstance } from 'fastify'
import { AppError } from '../../../contract/errors.ts'
import { encodeOpenaiError } from '../../../dialect/openai/errors.ts'
import { callerOf } from '../../access/caller.ts'
import { defaultModelName } from '../../run/default-model.ts'
import type { Models } from '../../run/deps.ts'

/** The lists of text-generation-webui, which its clients read before they use OpenAI's routes. */
export function addOtherLists(app: FastifyInstance, deps: Models): void {
  const { models } = deps
  const config = { scope: 'inference', encodeError: encodeOpenaiError } as const
  app.get('/v1/internal/model/info', { config }, (request) => {
    const viewer = callerOf(request)
    if (models.list(viewer).length === 0) throw new AppError('model-not-found', 'there is no model')
    return { model_name: models.get(defaultModelName(deps, viewer), viewer).id, lora_names: [] }
  })
  app.get('/v1/internal/model/list', { config }, (request) => ({
    model_names: models.list(callerOf(request)).map(({ id }) => id),
  }))
}
