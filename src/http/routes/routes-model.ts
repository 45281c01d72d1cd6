import type { FastifyInstance } from 'fastify'
import { AppError } from '../../contract/errors.ts'
import type { ServedModel } from '../../contract/served-model.ts'
import { nameInUse } from '../../core/templates/name-in-use.ts'
import { withTicket } from '../../core/uses/with-ticket.ts'
import { encodeOpenaiError } from '../../dialect/openai/errors.ts'
import { encodeModelCard, encodeProps, type ModelFacts } from '../../dialect/openai/model-card.ts'
import { callerOf } from '../access/caller.ts'
import { type Models, type Replying, systemFingerprint, type Watching } from '../run/deps.ts'
import { type ModelQuery, modelOfQuery } from '../run/model-query.ts'
import { withRun } from '../run/serve-call.ts'

/** Details of a model, as tabbyAPI's card and llama-server's properties, by `?model=` or of the default model. */
export function addModelRoutes(app: FastifyInstance, deps: Models & Watching & Replying): void {
  const config = { scope: 'inference', encodeError: encodeOpenaiError } as const

  app.get<ModelQuery>('/v1/model', { config }, (request) => {
    const model = deps.models.get(modelOfQuery(request, deps), callerOf(request))
    const report = deps.lifecycle?.models().find(({ id }) => id === model.id)
    return encodeModelCard(deps.models.summary(model), factsOf(model), report?.settings)
  })

  app.get<PropsQuery>('/props', { config }, async (request, reply) => {
    const viewer = callerOf(request)
    const name = modelOfQuery(request, deps)
    const isOfModel = (request.query.model ?? '') !== ''
    const { length } = deps.models.list(viewer)
    const loads = request.query.autoload === undefined || ['true', '1'].includes(request.query.autoload)
    const { id, engine } = deps.models.get(name, viewer)
    if (isOfModel && !loads && engine.state.type !== 'ready') {
      throw new AppError('invalid-request', `model '${id}' is not loaded, and autoload is off`, { param: 'model' })
    }
    // Some properties are known only after the load; llama-server does not reply before that, either. A router loads nothing.
    if (isOfModel || (length === 1 && loads)) {
      const model = deps.models.get(name, viewer)
      await withRun(deps, request, reply, (caller) =>
        withTicket({ ...caller, model }, async ({ ticket }) => ticket.ready(caller.signal), 'free'),
      )
    }
    const loaded = deps.models.get(name, viewer)
    const server = { build: systemFingerprint(deps), ...(!isOfModel && length > 1 && { models: length }) }
    return encodeProps(deps.models.summary(loaded), factsOf(loaded), server)
  })
}

type PropsQuery = { readonly Querystring: ModelQuery['Querystring'] & { readonly autoload?: string } }

function factsOf({ engine, scheduler }: ServedModel): ModelFacts {
  const templateName = nameInUse(engine.facts)
  return { slots: scheduler.load.slots, ...engine.facts, ...(templateName !== undefined && { templateName }) }
}
