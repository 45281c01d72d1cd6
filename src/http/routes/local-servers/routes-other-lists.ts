import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../../contract/errors.ts'
import type { ModelSummary } from '../../../contract/server/catalogue.ts'
import { capabilitiesOf } from '../../../dialect/ollama/models.ts'
import { encodeOpenaiError } from '../../../dialect/openai/errors.ts'
import { encodeLmStudioModel } from '../../../dialect/openai/lm-studio-models.ts'
import { callerOf } from '../../access/caller.ts'
import { defaultModelName } from '../../run/default-model.ts'
import type { Models } from '../../run/deps.ts'
import { describeModel } from '../describe-model.ts'

/** The lists of LM Studio and text-generation-webui, which their clients read before they use OpenAI's routes. */
export function addOtherLists(app: FastifyInstance, deps: Models): void {
  const { models } = deps
  const config = { scope: 'inference', encodeError: encodeOpenaiError } as const
  const inLmStudio = async (entry: ModelSummary, request: FastifyRequest) => {
    const { facts } = deps.models.get(entry.id, callerOf(request)).engine
    const described = await describeModel(deps, entry, callerOf(request))
    const { file } = described
    const contextLength = facts.contextLength ?? entry.contextLength ?? file?.contextLength
    return encodeLmStudioModel(entry, { abilities: capabilitiesOf(described), contextLength, file })
  }
  app.get('/api/v0/models', { config }, async (request) => {
    await models.refresh()
    const data = await Promise.all(models.list(callerOf(request)).map((entry) => inLmStudio(entry, request)))
    return { object: 'list', data }
  })
  // A wildcard, because ids may have slashes.
  app.get<{ Params: { '*': string } }>('/api/v0/models/*', { config }, async (request) =>
    inLmStudio(models.summary(await models.find(request.params['*'], callerOf(request))), request),
  )
  app.get('/v1/internal/model/info', { config }, (request) => {
    const viewer = callerOf(request)
    if (models.list(viewer).length === 0) throw new AppError('model-not-found', 'there is no model')
    return { model_name: models.get(defaultModelName(deps, viewer), viewer).id, lora_names: [] }
  })
  app.get('/v1/internal/model/list', { config }, (request) => ({
    model_names: models.list(callerOf(request)).map(({ id }) => id),
  }))
}
