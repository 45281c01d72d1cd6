import type { FastifyInstance } from 'fastify'
import type { Engine } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import { loadModel } from '../../contract/served-model.ts'
import { ownTemplateName, type TemplateChoice } from '../../contract/template.ts'
import { findTemplate } from '../../core/templates/find-template.ts'
import { nameInUse } from '../../core/templates/name-in-use.ts'
import { encodeOpenaiError } from '../../dialect/openai/errors.ts'
import { decodeTemplateSwitch, decodeTemplateUnload, encodeTemplates } from '../../dialect/templates/requests.ts'
import { callerOf } from '../access/caller.ts'
import { defaultModelName } from '../run/default-model.ts'
import type { Generating, Models, Operating, Watching } from '../run/deps.ts'
import { type ModelQuery, modelOfQuery } from '../run/model-query.ts'
import type { CallerContext } from '../run/open-run.ts'
import { createBodilessCallHandler, createCallHandler, withRun } from '../run/serve-call.ts'

/** tabbyAPI's routes for chat templates: those in the configured folder, and each model's own. */
export function addTemplateRoutes(app: FastifyInstance, deps: Generating & Models & Watching & Operating): void {
  const reading = { config: { scope: 'inference', encodeError: encodeOpenaiError } } as const
  const changing = { config: { scope: 'admin', encodeError: encodeOpenaiError } } as const

  for (const url of ['/v1/templates', '/v1/template/list']) {
    app.get<ModelQuery>(url, reading, async (request, reply) => {
      const model = deps.models.get(modelOfQuery(request, deps), callerOf(request))
      // Whether the model has a template of its own is known only after its load.
      await withRun(deps, request, reply, ({ signal }) => loadModel(model, signal))
      return list(model.engine)
    })
  }
  app.post(
    '/v1/template/switch',
    changing,
    createCallHandler(deps, (body) => {
      const { template, model, ignored } = decodeTemplateSwitch(body)
      return {
        ignored,
        run: (caller) => use(model, caller, () => findTemplate(deps.templates, template, { param: 'prompt_template_name' })),
      }
    }),
  )
  app.post(
    '/v1/template/unload',
    changing,
    createBodilessCallHandler(deps, (body) => {
      const { model, ignored } = decodeTemplateUnload(body)
      return { ignored, run: (caller) => use(model, caller, async () => ({ type: 'none' })) }
    }),
  )

  // Bypasses the model's queue, so that operators get through when it is full.
  async function use(name: string | undefined, { principal, signal }: CallerContext, choose: () => Promise<TemplateChoice>) {
    const model = deps.models.get(name ?? defaultModelName(deps, principal), principal)
    const { id, engine } = model
    const { templates } = engine.capabilities
    if (templates === undefined) {
      const message = `the server of model '${id}' renders conversations itself; its chat template cannot be switched here`
      throw new AppError('invalid-request', message, { at: ['model'] })
    }
    const choice = await choose()
    await loadModel(model, signal)
    await templates.use(choice, signal)
    await deps.choices?.templateChosen(model, choice)
    return list(engine)
  }

  async function list({ facts }: Pick<Engine, 'facts'>) {
    // The own template hides a file of that name.
    const others = ((await deps.templates?.list()) ?? []).filter((name) => name !== ownTemplateName)
    return encodeTemplates([...(facts.hasOwnTemplate === true ? [ownTemplateName] : []), ...others], nameInUse(facts))
  }
}
