import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isObject } from '../../../base/json.ts'
import { AppError } from '../../../contract/errors.ts'
import { detokenize, tokenize } from '../../../core/uses/use-tokenizer.ts'
import { defaultLength } from '../../../dialect/kobold/decode.ts'
import { createKobold, readGenkey } from '../../../dialect/kobold/dialect.ts'
import { encodeLastLogprobs, encodePerf } from '../../../dialect/kobold/encode-status.ts'
import { encodeKoboldError } from '../../../dialect/kobold/errors.ts'
import { decodeDetokenize, decodeTokenCount } from '../../../dialect/kobold/tokens.ts'
import { decodeEmbeddings, encodeEmbeddings } from '../../../dialect/openai-embeddings/embeddings.ts'
import { callerOf } from '../../access/caller.ts'
import { takeAsJson, takeBody } from '../../body/take-body.ts'
import { cancelEverywhere } from '../../run/cancel-everywhere.ts'
import { defaultModelName } from '../../run/default-model.ts'
import type { Operating } from '../../run/deps.ts'
import { createEmbedHandler } from '../../run/embed-call.ts'
import type { CallerContext } from '../../run/open-run.ts'
import { createCallHandler } from '../../run/serve-call.ts'
import { createDialectHandler, type DialectDeps } from '../../run/serve-dialect.ts'
import { RecentTexts } from './recent-texts.ts'

/** Clients compare it with what they need: from 1.2.2 on stop sequences, from 1.2.4 on `use_default_badwordsids`. */
const apiVersion = '1.2.5'
/** From 1.104 on, KoboldAI Lite sends conversations to `/v1/chat/completions`, where the chat template is applied. */
const appVersion = '1.112'

/** KoboldAI's and KoboldCpp's routes, for a model of this server. */
export function addKoboldRoutes(app: FastifyInstance, deps: DialectDeps & Operating): void {
  const config = { scope: 'inference', encodeError: encodeKoboldError } as const
  const engineOf = (request: FastifyRequest) => {
    const viewer = callerOf(request)
    return deps.models.get(defaultModelName(deps, viewer), viewer).engine
  }
  const texts = new RecentTexts(deps.everyone)
  const watch = texts.watch.bind(texts)
  const contextOf = (request: FastifyRequest) => ({ value: engineOf(request).facts.contextLength ?? 0 })
  for (const version of ['v1', 'latest']) {
    app.get(`/api/${version}/model`, { config }, (request) => {
      const viewer = callerOf(request)
      return { result: `koboldcpp/${deps.models.get(defaultModelName(deps, viewer), viewer).id}` }
    })
    app.get(`/api/${version}/info/version`, { config }, () => ({ result: apiVersion }))
    app.get(`/api/${version}/config/max_context_length`, { config }, contextOf)
    app.get(`/api/${version}/config/max_length`, { config }, () => ({ value: defaultLength }))
    app.post(`/api/${version}/generate`, { config }, createDialectHandler(deps, createKobold({ streams: false, watch })))
  }
  app.post('/api/extra/generate/stream', { config }, createDialectHandler(deps, createKobold({ streams: true, watch })))
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
      const { request, ignored, nameOf } = decodeTokenCount(body)
      const run = async (caller: CallerContext) => {
        const model = await deps.models.find(defaultModelName(deps, principal), principal)
        const ids = await tokenize(deps, request, { ...caller, model })
        return { value: ids.length, ids }
      }
      return { ignored, nameOf, run }
    }),
  )
  /** Without a name it is the caller's last, unless callers cannot be told apart. */
  const textOf = (request: FastifyRequest) => {
    const { id, isAnyone } = callerOf(request)
    const genkey = readGenkey(takeBody(request).body)
    return isAnyone === true && genkey === '' ? { text: '', tokens: [] } : texts.find(id, genkey)
  }
  app.route({
    method: ['GET', 'POST'],
    url: '/api/extra/generate/check',
    config,
    handler: async (request) => ({ results: [{ text: (await textOf(request)).text }] }),
  })
  app.post('/api/extra/last_logprobs', { config }, async (request) => encodeLastLogprobs((await textOf(request)).tokens))
  app.post(
    '/api/extra/detokenize',
    { config },
    createCallHandler(deps, (body, { principal }) => {
      const { request, ignored, nameOf } = decodeDetokenize(body)
      const run = async (caller: CallerContext) => {
        const model = await deps.models.find(defaultModelName(deps, principal), principal)
        return { result: await detokenize(request, { ...caller, model }), success: true }
      }
      return { ignored, nameOf, run }
    }),
  )
  const embed = createEmbedHandler(deps, (body) => {
    const { format, ...call } = decodeEmbeddings(body)
    return { ...call, encode: (result) => encodeEmbeddings(result, format) }
  })
  app.post('/api/extra/embeddings', { config, preHandler: dropProgramName }, embed)
  app.get('/api/extra/perf', { config }, async (request) => {
    const viewer = callerOf(request)
    const { queued, busy } = deps.models.get(defaultModelName(deps, viewer), viewer).scheduler.load
    const page = await deps.activity?.read({ recent: 20, owner: viewer.id, limit: 20 })
    return encodePerf({
      last: page?.requests.findLast(({ endedAtMs, usage }) => endedAtMs !== undefined && usage !== undefined),
      ended: Object.values(page?.place ?? {}).reduce((sum, { seen }) => sum + seen, 0),
      waiting: queued,
      isIdle: busy === 0,
      uptimeSeconds: process.uptime(),
      nowMs: Date.now(),
    })
  })
  app.post('/api/extra/json_to_grammar', { config: { ...config, isRefusal: true } }, (request) => {
    const msg = 'grammars are not shown: send the schema itself, as `json_schema` of /v1/completions or /api/v1/generate'
    request.absentReply = { status: 501, body: { detail: { msg, type: 'not_implemented' } } }
    throw new AppError('route-not-found', msg)
  })
  app.get('/api/v1/config/soft_prompt', { config }, () => ({ value: '' }))
  app.get('/api/v1/config/soft_prompts_list', { config }, () => ({ values: [] }))
  // Without a key it ends nothing: the client also closes its connection, which does.
  const abort = async (request: FastifyRequest) => {
    const genkey = readGenkey(takeBody(request).body)
    const { id: by } = callerOf(request)
    const isNamed = genkey !== ''
    if (isNamed) await cancelEverywhere(deps, { cancelId: genkey, replyIds: [], by, isAdmin: false })
    return { success: isNamed, done: isNamed }
  }
  for (const path of ['/api/extra/abort', '/api/v1/abort']) {
    app.post(path, { config: { ...config, isBodyLenient: true }, onRequest: takeAsJson }, abort)
  }
}

/** Its clients name their program in the place of a model. */
function dropProgramName(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  const { body } = request
  if (isObject(body) && (body.model === 'kcpp' || body.model === 'koboldcpp')) delete body.model
  done()
}
