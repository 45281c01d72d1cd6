import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError } from '../../../contract/errors.ts'
import type { Principal } from '../../../contract/principal.ts'
import type { ServedModel } from '../../../contract/served-model.ts'
import { embed } from '../../../core/uses/embed.ts'
import { withTicket } from '../../../core/uses/with-ticket.ts'
import { decodeChat } from '../../../dialect/ollama/decode-chat.ts'
import { decodeGenerate } from '../../../dialect/ollama/decode-generate.ts'
import { ollamaDialects } from '../../../dialect/ollama/dialects.ts'
import { type DecodedEmbed, decodeEmbed, decodeEmbeddings } from '../../../dialect/ollama/embed.ts'
import { encodeResidence } from '../../../dialect/ollama/encode.ts'
import { encodeEmbedError, encodeOllamaError } from '../../../dialect/ollama/errors.ts'
import { apiVersion, encodeLoaded, encodeShow, encodeTags, type OllamaModel } from '../../../dialect/ollama/models.ts'
import { onlyLoads } from '../../../dialect/ollama/only-loads.ts'
import { decodeShow } from '../../../dialect/ollama/pull.ts'
import type { DecodedOllama } from '../../../dialect/ollama/style.ts'
import { callerOf } from '../../access/caller.ts'
import { takeRequiredBody } from '../../body/take-body.ts'
import type { Exchange } from '../../reply/exchange.ts'
import { addIgnored, encodeFields } from '../../reply/reply-headers.ts'

import { keepLoaded } from '../../run/keep-loaded.ts'
import { type CallerContext, openRun } from '../../run/open-run.ts'
import { createCallHandler } from '../../run/serve-call.ts'
import { createDialectHandler, type DialectDeps } from '../../run/serve-dialect.ts'
import { describeModel } from '../describe-model.ts'
import { addOllamaPullRoutes } from './routes-ollama-pull.ts'

/** Ollama's routes, which its clients expect without a prefix. */
export function addOllamaRoutes(app: FastifyInstance, given: DialectDeps): void {
  const deps = { ...given, models: given.models.inAnyCase }
  const config = { scope: 'inference', encodeError: encodeOllamaError, takesAnyType: true } as const
  const open = { config: { scope: 'public', encodeError: encodeOllamaError } } as const
  const bodied = { config, preHandler: requireBody }

  for (const { path, form, dialect, decode } of generatingRoutes) {
    const generate = createDialectHandler(deps, dialect, { hasDefaultModel: false })
    app.post(path, bodied, (request, reply) =>
      onlyLoads(request.body, form) ? load(deps, decode, { request, reply }) : generate(request, reply),
    )
  }
  const embedding = { ...bodied, config: { ...config, encodeError: encodeEmbedError } }
  app.post('/api/embed', embedding, createEmbedding(deps, decodeEmbed))
  app.post('/api/embeddings', embedding, createEmbedding(deps, decodeEmbeddings))

  app.get('/api/version', open, () => ({ version: apiVersion, dragoman: deps.version }))
  app.get('/api/status', open, () => ({ cloud: { disabled: true, source: 'config' } }))
  app.get('/api/tags', { config }, async (request) => encodeTags(await modelsFor(deps, callerOf(request))))
  app.get('/api/ps', { config }, async (request) => encodeLoaded(await modelsFor(deps, callerOf(request))))
  app.post('/api/show', bodied, async (request, reply) => {
    const { name, ignored } = decodeShow(takeRequiredBody(request).body)
    addIgnored(reply, ignored)
    const caller = callerOf(request)
    return encodeShow(await describeModel(deps, deps.models.summary(await deps.models.find(name, caller)), caller), name)
  })
  addOllamaPullRoutes(app, deps)
}

const generatingRoutes = [
  { path: '/api/chat', form: 'chat', dialect: ollamaDialects.chat, decode: (body: unknown) => decodeChat(body, '') },
  { path: '/api/generate', form: 'text', dialect: ollamaDialects.generate, decode: (body: unknown) => decodeGenerate(body, '') },
] as const

async function requireBody({ body }: FastifyRequest): Promise<void> {
  if (body === undefined) throw new AppError('invalid-json', 'missing request body')
}

/** Loads a model, or unloads it with a `keep_alive` of 0; the reply is one object, even if a stream was requested. */
async function load(deps: DialectDeps, decode: (body: unknown) => DecodedOllama, { request, reply }: Exchange): Promise<unknown> {
  const { body } = takeRequiredBody(request)
  const { request: wanted, keepLoaded: wish, style, ignored, nameOf } = decode(body)
  const { caller, handle } = openRun(deps, { request, reply }, { id: `load-${randomUUID()}`, body })
  try {
    const model = await deps.models.find(wanted.model, caller.principal)
    handle.servedBy(model.id)
    const keeping = keepLoaded(wish, caller.principal)
    const unloads = wish?.ms === 0
    if (unloads && !keeping.isAllowed)
      throw new AppError('forbidden', "this API key may not unload models: that needs the scope 'admin'")
    addIgnored(reply, [...ignored, ...keeping.ignored])
    if (!unloads) await loadFor(model, caller)
    keeping.keep(model)
    return encodeResidence(unloads ? 'unload' : 'load', style, Date.now())
  } catch (error) {
    throw AppError.from(error).inWordsOf(nameOf)
  } finally {
    handle.close()
  }
}

/** Waits until the model is loaded, as a request for it does. */
async function loadFor(model: ServedModel, caller: CallerContext): Promise<void> {
  await withTicket({ ...caller, model }, async ({ ticket }) => ticket.ready(caller.signal), 'free')
}

function createEmbedding(deps: DialectDeps, decode: (body: unknown) => DecodedEmbed) {
  return createCallHandler(deps, (body, { principal }) => {
    const { request, keepLoaded: wish, ignored, nameOf, encode } = decode(body)
    const keeping = keepLoaded(wish, principal)
    const run = async (caller: CallerContext, reply: FastifyReply) => {
      const model = await deps.models.find(request.model, principal)
      const startedMs = deps.now()
      const durations = (loadMs: number) => ({ totalMs: deps.now() - startedMs, loadMs })
      try {
        const isLoaded = model.engine.state.type === 'ready'
        if (!isLoaded) await loadFor(model, caller)
        const loadMs = isLoaded ? 0 : deps.now() - startedMs
        if (request.inputs.length === 0) return encode({ model: model.id, vectors: [], inputTokens: 0 }, durations(loadMs))
        const result = await embed(request, { ...caller, model })
        const dropped = (result.cut ?? []).map((index) => nameOf(['inputs', index]))
        if (dropped.length > 0) reply.header('x-dragoman-dropped', encodeFields(dropped))
        return encode(result, durations(loadMs))
      } finally {
        keeping.keep(model)
      }
    }
    return { ignored: [...ignored, ...keeping.ignored], nameOf, run }
  })
}

async function modelsFor(deps: DialectDeps, caller: Principal): Promise<readonly OllamaModel[]> {
  await deps.models.refresh()
  return Promise.all(deps.models.list(caller).map((summary) => describeModel(deps, summary, caller)))
}
