import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { tokenize } from '../../../core/uses/use-tokenizer.ts'
import { defaultLength } from '../../../dialect/kobold/decode.ts'
import { createKobold } from '../../../dialect/kobold/dialect.ts'
import { encodeKoboldError } from '../../../dialect/kobold/errors.ts'
import { decodeTokenize } from '../../../dialect/tokens/decode.ts'
import { callerOf } from '../../access/caller.ts'
import { takeAsJson, takeBody } from '../../body/take-body.ts'
import { cancelEverywhere } from '../../run/cancel-everywhere.ts'
import { defaultModelName } from '../../run/default-model.ts'
import type { Operating } from '../../run/deps.ts'
import type { CallerContext } from '../../run/open-run.ts'
import { createCallHandler } from '../../run/serve-call.ts'
import { createDialectHandler, type DialectDeps } from '../../run/serve-dialect.ts'

/** Clients compare it with what they need: from 1.2.2 on stop sequences, from 1.2.4 on `use_default_badwordsids`. */
const apiVersion = '1.2.5'
const appVersion = '1.100'

/** KoboldAI's and KoboldCpp's routes, for a model of this server. */
export function addKoboldRoutes(app: FastifyInstance, deps: DialectDeps & Operating): void {
  const config = { scope: 'inference', encodeError: encodeKoboldError } as const
  const engineOf = (request: FastifyRequest) => {
    const viewer = callerOf(request)
    return deps.models.get(defaultModelName(deps, viewer), viewer).engine
  }
  const contextOf = (request: FastifyRequest) => ({ value: engineOf(request).facts.contextLength ?? 0 })
  for (const version of ['v1', 'latest']) {
    app.get(`/api/${version}/model`, { config }, (request) => {
      const viewer = callerOf(request)
      return { result: `koboldcpp/${deps.models.get(defaultModelName(deps, viewer), viewer).id}` }
    })
    app.get(`/api/${version}/info/version`, { config }, () => ({ result: apiVersion }))
    app.get(`/api/${version}/config/max_context_length`, { config }, contextOf)
    app.get(`/api/${version}/config/max_length`, { config }, () => ({ value: defaultLength }))
    app.post(
      `/api/${version}/generate`,
      { config, preHandler: nameByGenkey },
      createDialectHandler(deps, createKobold({ streams: false })),
    )
  }
  app.post(
    '/api/extra/generate/stream',
    { config, preHandler: nameByGenkey },
    createDialectHandler(deps, createKobold({ streams: true })),
  )
  app.get('/api/extra/true_max_context_length', { config }, contextOf)
  app.get('/api/extra/version', { config }, (request) => {
    const { facts, capabilities } = engineOf(request)
    const no = { txt2img: false, transcribe: false, multiplayer: false, websearch: false, tts: false, savedata: false, admin: 0 }
    const has = { llm: true, vision: facts.modalities?.image === true, embeddings: capabilities.embedder !== undefined }
    return { result: 'KoboldCpp', version: appVersion, jinja: true, ...has, ...no }
  })
  app.post(
    '/api/extra/tokencount',
    { config },
    createCallHandler(deps, (body, { principal }) => {
      const { special: _, ...rest } = body as { readonly special?: unknown }
      const { request, ignored, nameOf } = decodeTokenize(rest, 'prompt')
      const run = async (caller: CallerContext) => {
        const model = await deps.models.find(defaultModelName(deps, principal), principal)
        const ids = await tokenize(deps, request, { ...caller, model })
        return { value: ids.length, ids }
      }
      return { ignored, nameOf, run }
    }),
  )
  // Without a key it ends nothing: the client also closes its connection, which does.
  const abort = async (request: FastifyRequest) => {
    const { genkey } = (takeBody(request).body ?? {}) as { readonly genkey?: unknown }
    const { id: by } = callerOf(request)
    const isNamed = typeof genkey === 'string' && genkey !== ''
    if (isNamed) await cancelEverywhere(deps, { cancelId: genkey, replyIds: [], by, isAdmin: false })
    return { success: isNamed, done: isNamed }
  }
  for (const path of ['/api/extra/abort', '/api/v1/abort']) {
    app.post(path, { config: { ...config, isBodyLenient: true }, onRequest: takeAsJson }, abort)
  }
}

/** KoboldCpp's name of a request is ours of a cancel. */
function nameByGenkey(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  const { body } = request
  if (typeof body === 'object' && body !== null && 'genkey' in body && !('cancel_id' in body)) {
    Object.assign(body, { cancel_id: body.genkey })
  }
  done()
}
