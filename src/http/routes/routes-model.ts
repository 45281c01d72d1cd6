import type { FastifyInstance } from 'fastify'
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

  app.get<ModelQuery>('/props', { config }, async (request, reply) => {
    const name = modelOfQuery(request, deps)
    const model = deps.models.get(name, callerOf(request))
    // Some properties are known only after the load; llama-server does not reply before that, either.
    await withRun(deps, request, reply, (caller) =>
      withTicket({ ...caller, model }, async ({ ticket }) => ticket.ready(caller.signal), 'free'),
    )
    const loaded = deps.models.get(name, callerOf(request))
    return encodeProps(deps.models.summary(loaded), factsOf(loaded), systemFingerprint(deps))
  })
}

function factsOf({ engine, scheduler }: ServedModel): ModelFacts {
  const templateName = nameInUse(engine.facts)
  return { slots: scheduler.load.slots, ...engine.facts, ...(templateName !== undefined && { templateName }) }
}
