import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../../contract/errors.ts'
import type { ModelSummary } from '../../../contract/server/catalogue.ts'
import type { Lifecycle, LoadRequest } from '../../../contract/server/lifecycle.ts'
import type { RequestTemplate } from '../../../contract/template.ts'
import { findTemplate } from '../../../core/templates/find-template.ts'
import { encodeOpenaiError } from '../../../dialect/openai/errors.ts'
import { encodeModel, encodeModelList } from '../../../dialect/openai/models.ts'
import { decodeDownload, nameDownloadField } from '../../../dialect/tabby/download.ts'
import { createLoadFrames, decodeEmbeddingLoad, decodeModelLoad, nameTabbyField } from '../../../dialect/tabby/load.ts'
import { encodeServiceInfo } from '../../../dialect/tabby/service-info.ts'
import { callerOf } from '../../access/caller.ts'
import { takeRequiredBody } from '../../body/take-body.ts'
import { shownTo } from '../../reply/error-reply.ts'
import { openEventStream } from '../../reply/event-stream.ts'
import { logFailure, wireCodeOf } from '../../reply/failure-log.ts'
import { addIgnored } from '../../reply/reply-headers.ts'

import { openRun } from '../../run/open-run.ts'
import type { DialectDeps } from '../../run/serve-dialect.ts'
import { addLoraRoutes } from './routes-lora.ts'

/** tabbyAPI's routes for listing, loading and unloading models, and for the permission of a key. */
export function addTabbyRoutes(app: FastifyInstance, deps: DialectDeps): void {
  const { models } = deps
  /** The models that these routes loaded last. */
  const loaded: Loaded = {}
  const reading = { config: { scope: 'inference', encodeError: encodeOpenaiError } } as const

  app.get('/v1/auth/permission', reading, (request) => ({
    permission: callerOf(request).scopes.has('admin') ? 'admin' : 'api',
  }))
  app.get('/.well-known/serviceinfo', { config: { scope: 'public', encodeError: encodeOpenaiError } }, () =>
    encodeServiceInfo(deps.version),
  )
  for (const path of ['/v1/model/list', '/v1/model/draft/list']) {
    app.get(path, reading, async (request) => {
      await models.refresh()
      return encodeModelList(models.list(callerOf(request)))
    })
  }
  app.get('/v1/model/embedding/list', reading, (request) => encodeModelList(embedders(request)))
  app.get('/v1/model/embedding', reading, (request) => {
    const ready = embedders(request).filter(({ state }) => state.type === 'ready')
    // The model loaded to embed, otherwise the one loaded last.
    const active = deps.lifecycle?.active()?.id
    const model = ready.find(({ id }) => id === loaded.embedding) ?? ready.find(({ id }) => id === active) ?? ready[0]
    if (model === undefined) throw new AppError('invalid-request', 'no model that embeds is loaded')
    return encodeModel(model)
  })
  if (deps.lifecycle !== undefined) {
    addLoading(app, deps, { lifecycle: deps.lifecycle, loaded })
    addLoraRoutes(app, deps, deps.lifecycle)
  }

  function embedders(request: FastifyRequest): readonly ModelSummary[] {
    const caller = callerOf(request)
    const mayEmbed = ({ kind = 'embeddings' }: ModelSummary) => kind === 'embeddings'
    return models
      .list(caller)
      .filter(mayEmbed)
      .filter(({ id }) => deps.models.get(id, caller).engine.capabilities.embedder !== undefined)
  }
}

type Loaded = { model?: string; embedding?: string }
type TabbyLoad = { readonly wanted: LoadRequest; readonly choice?: RequestTemplate | undefined }
type Loading = { readonly lifecycle: Lifecycle; readonly loaded: Loaded }

function addLoading(app: FastifyInstance, deps: DialectDeps, { lifecycle, loaded }: Loading): void {
  const changing = { config: { scope: 'admin', encodeError: encodeOpenaiError } } as const

  app.post('/v1/model/load', changing, async (request, reply) => {
    const { request: wanted, template, ignored } = decodeModelLoad(takeRequiredBody(request).body)
    addIgnored(reply, ignored)
    const choice = template === undefined ? undefined : await findTemplate(deps.templates, template, { param: 'prompt_template' })
    const settings = { ...wanted.settings, ...(choice?.type === 'named' && { chatTemplate: choice.source }) }
    await streamLoad({ wanted: { ...wanted, settings }, choice }, request, reply)
  })
  app.post('/v1/model/unload', changing, async (request) => {
    // Without a name, a client may not unload a model that the configuration loads.
    const name = loaded.model ?? lifecycle.chosen()
    if (name === undefined) throw new AppError('invalid-request', 'no model was loaded by a request')
    delete loaded.model
    await lifecycle.unload(name, { endsRequests: true, principal: callerOf(request) })
    return {}
  })
  app.post('/v1/model/embedding/load', changing, async (request, reply) => {
    const { request: wanted, ignored } = decodeEmbeddingLoad(takeRequiredBody(request).body)
    addIgnored(reply, ignored)
    const { caller, handle } = openRun(deps, { request, reply }, { id: `load-${randomUUID()}` })
    try {
      loaded.embedding = (await lifecycle.load(wanted, caller)).model.id
      return { model_type: 'embedding_model', module: 1, modules: 1, status: 'finished' }
    } catch (error) {
      throw AppError.from(error).inWordsOf((path) => (path[0] === 'name' ? 'embedding_model_name' : nameTabbyField(path)))
    } finally {
      handle.close()
    }
  })
  app.post('/v1/model/embedding/unload', changing, async (request) => {
    const { embedding } = loaded
    if (embedding === undefined) throw new AppError('invalid-request', 'no embedding model was loaded here')
    delete loaded.embedding
    await lifecycle.unload(embedding, { endsRequests: true, principal: callerOf(request) })
    return {}
  })

  app.post('/v1/download', changing, async (request, reply) => {
    const { wanted, timeoutMs, ignored } = decodeDownload(takeRequiredBody(request).body)
    addIgnored(reply, ignored)
    const { caller, handle } = openRun(deps, { request, reply }, { id: `download-${randomUUID()}` })
    const late = timeoutMs === undefined ? undefined : setTimeout(() => handle.expire(tooSlow(timeoutMs)), timeoutMs)
    try {
      return { download_path: await lifecycle.fetch(wanted, caller) }
    } catch (error) {
      throw AppError.from(error).inWordsOf(nameDownloadField)
    } finally {
      clearTimeout(late)
      handle.close()
    }
  })

  /** The events of a load. Faults known before it begins are refused with their status. */
  async function streamLoad({ wanted, choice }: TabbyLoad, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { caller, handle } = openRun(deps, { request, reply }, { id: `load-${randomUUID()}` })
    const frames = createLoadFrames({ hasDraft: wanted.settings.draftModel !== undefined })
    const writer = openEventStream(deps, reply, { heartbeat: ': \n\n' })
    try {
      const { model, isNew } = await lifecycle.load(wanted, {
        ...caller,
        onProgress: (progress) => writer.write(frames.progress(progress)),
      })
      loaded.model = model.id
      const { capabilities, facts } = deps.models.get(model.id, caller.principal).engine
      // The model already uses this text; this gives it its name, which cards show. Its own may have been replaced by one with its name.
      const isUsed = choice?.type === 'own' && facts.chatTemplateName === undefined
      if (choice !== undefined && !isUsed) await capabilities.templates?.use(choice, caller.signal)
      writer.write(frames.end(isNew))
    } catch (thrown) {
      const error = AppError.from(thrown).inWordsOf(nameTabbyField)
      if (!writer.started) throw error
      logFailure(request, error, { what: 'load failed', code: wireCodeOf(encodeOpenaiError(error).body, error) })
      writer.write(frames.error(shownTo(request.principal, error)))
    } finally {
      writer.end()
      handle.close()
    }
    reply.hijack()
  }
}

function tooSlow(timeoutMs: number): AppError {
  const message = `the download took longer than its timeout of ${timeoutMs / 1000} s; the same request goes on from here`
  return new AppError('model-unavailable', message, { param: 'timeout' })
}
