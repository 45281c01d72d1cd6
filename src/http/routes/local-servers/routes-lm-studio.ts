import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../../contract/errors.ts'
import type { NameOf } from '../../../contract/field.ts'
import type { Principal } from '../../../contract/principal.ts'
import type { Lifecycle } from '../../../contract/server/lifecycle.ts'
import { encodeDownload } from '../../../dialect/lm-studio/downloads.ts'
import { encodeLmStudioError } from '../../../dialect/lm-studio/errors.ts'
import { encodeListedModel, encodeModel, typeOf } from '../../../dialect/lm-studio/models.ts'
import { decodeDownload, decodeLoad, decodeUnload, nameLoadField } from '../../../dialect/lm-studio/requests.ts'
import { encodeOpenaiError } from '../../../dialect/openai/errors.ts'
import { callerOf } from '../../access/caller.ts'
import { takeRequiredBody } from '../../body/take-body.ts'
import { shownTo } from '../../reply/error-reply.ts'
import { addIgnored } from '../../reply/reply-headers.ts'
import { createLmStudioChat } from '../../responses/serve-chat.ts'
import type { Models, Replying, Watching } from '../../run/deps.ts'
import { Downloads } from '../../run/downloads.ts'
import { isServed } from '../../run/is-served.ts'
import { withRun } from '../../run/serve-call.ts'
import { describeForLmStudio } from '../describe-lm-studio.ts'
import type { ResponsesParts } from '../openai/routes-responses.ts'

type Deps = Models & Watching & Replying & ResponsesParts

/** LM Studio's REST API: v1, and the lists of v0, whose other routes are OpenAI's. */
export function addLmStudioRoutes(app: FastifyInstance, deps: Deps): void {
  const { lifecycle, models } = deps
  const v0 = { config: { scope: 'inference', encodeError: encodeOpenaiError } } as const
  app.get('/api/v0/models', v0, async (request) => {
    await models.refresh()
    const caller = callerOf(request)
    const data = await Promise.all(models.list(caller).map((entry) => describeForLmStudio(deps, entry, caller)))
    return { object: 'list', data: data.map(({ entry, ...described }) => encodeListedModel(entry, described)) }
  })
  // A wildcard, because ids may have slashes.
  app.get<{ Params: { '*': string } }>('/api/v0/models/*', v0, async (request) => {
    const caller = callerOf(request)
    const { entry, ...described } = await describeForLmStudio(
      deps,
      models.summary(await models.find(request.params['*'], caller)),
      caller,
    )
    return encodeListedModel(entry, described)
  })

  const reading = { config: { scope: 'inference', encodeError: encodeLmStudioError } } as const
  app.get('/api/v1/models', reading, async (request) => {
    await models.refresh()
    const caller = callerOf(request)
    const all = await Promise.all(models.list(caller).map((entry) => describeForLmStudio(deps, entry, caller)))
    return { models: all.map(({ entry, ...described }) => encodeModel(entry, described)) }
  })
  app.post('/api/v1/chat', reading, createLmStudioChat(deps))
  if (lifecycle !== undefined) addChanges(app, deps, lifecycle)
}

/** What changes the set of loaded models. */
function addChanges(app: FastifyInstance, deps: Deps, lifecycle: Lifecycle): void {
  const { models, now } = deps
  const changing = { config: { scope: 'admin', encodeError: encodeLmStudioError } } as const
  app.post('/api/v1/models/load', changing, (request, reply) => {
    const { request: wanted, echoes, ignored } = decodeLoad(takeRequiredBody(request).body)
    return answer({ request, reply, ignored }, async ({ principal, signal }) => {
      const startedMs = now()
      const { model } = await lifecycle.load(wanted, { principal, signal })
      const { entry, abilities, contextLength = 0 } = await describeForLmStudio(deps, models.summary(model), principal)
      const { batchSize, flashAttention } = model.settings
      const config = {
        context_length: contextLength,
        ...(batchSize !== undefined && { eval_batch_size: batchSize }),
        ...(flashAttention !== undefined && { flash_attention: flashAttention }),
      }
      return {
        type: typeOf(entry, { abilities }),
        instance_id: model.id,
        load_time_seconds: (now() - startedMs) / 1000,
        status: 'loaded',
        ...(echoes && { load_config: config }),
      }
    })
  })
  app.post('/api/v1/models/unload', changing, (request, reply) => {
    const { name, ignored } = decodeUnload(takeRequiredBody(request).body)
    const nameOf: NameOf = (path) => (path[0] === 'name' ? 'instance_id' : nameLoadField(path))
    return answer({ request, reply, ignored, nameOf }, async ({ principal }) => {
      return { instance_id: await lifecycle.unload(name, { endsRequests: false, principal }) }
    })
  })

  const downloads = new Downloads()
  app.post('/api/v1/models/download', changing, (request, reply) => {
    const { wanted, ignored } = decodeDownload(takeRequiredBody(request).body)
    return answer({ request, reply, ignored }, async ({ principal }) => {
      if (wanted.variant === undefined && (await isServed(deps, wanted.name, principal))) return { status: 'already_downloaded' }
      const load = { ...wanted, settings: {}, reloads: false, endsRequests: false, isBeside: true } as const
      return encodeDownload(await downloads.begin(lifecycle, load, principal), Date.now())
    })
  })
  app.get<{ Params: { job: string } }>('/api/v1/models/download/status/:job', changing, (request) => {
    const { job: id } = request.params
    const job = downloads.find(id)
    if (job === undefined) {
      const message = `there is no download '${id.slice(0, 100)}': POST /api/v1/models/download names the job that it begins`
      throw new AppError('not-found', message, { param: 'job_id' })
    }
    const { error, ...known } = job
    const shown = error && shownTo(request.principal, error.inWordsOf(nameLoadField))
    return encodeDownload({ ...known, ...(shown !== undefined && { error: shown }) }, Date.now())
  })

  async function answer(
    { request, reply, ignored, nameOf = nameLoadField }: Changing,
    work: (caller: { readonly principal: Principal; readonly signal: AbortSignal }) => Promise<unknown>,
  ): Promise<unknown> {
    addIgnored(reply, ignored)
    try {
      return await withRun(deps, request, reply, work)
    } catch (error) {
      throw AppError.from(error).inWordsOf(nameOf)
    }
  }
}

type Changing = {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly ignored: readonly string[]
  readonly nameOf?: NameOf
}
