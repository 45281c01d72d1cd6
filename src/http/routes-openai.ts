import type { FastifyInstance } from 'fastify'
import type { RequestContext } from '../contract/context.ts'
import type { Dialect } from '../contract/dialect.ts'
import type { RankRequest } from '../contract/engine.ts'
import { embed } from '../core/embed.ts'
import { rank } from '../core/rank.ts'
import { score } from '../core/score.ts'
import { createOpenaiChat } from '../dialect/openai-chat/dialect.ts'
import { createOpenaiCompletions } from '../dialect/openai-completions/dialect.ts'
import { decodeEmbeddings } from '../dialect/openai-embeddings/decode.ts'
import { encodeEmbeddings } from '../dialect/openai-embeddings/encode.ts'
import { decodeRerank, decodeScoreEvaluation, type ScoringCall } from '../dialect/scoring/scoring.ts'
import { type ServerDeps, systemFingerprint } from './deps.ts'
import type { CallerContext } from './open-run.ts'
import { createCallHandler } from './serve-call.ts'
import { createDialectHandler } from './serve-dialect.ts'

type OpenaiDialects = { readonly chat: Dialect; readonly completions: Dialect }

export function createOpenaiDialects(deps: ServerDeps): OpenaiDialects {
  const fingerprint = systemFingerprint(deps)
  return {
    chat: createOpenaiChat({ reasoningFields: deps.reasoningFields ?? 'both', systemFingerprint: fingerprint }),
    completions: createOpenaiCompletions({ systemFingerprint: fingerprint }),
  }
}

/** OpenAI's routes under `/v1`. */
export function addOpenaiRoutes(app: FastifyInstance, deps: ServerDeps, { chat, completions }: OpenaiDialects): void {
  const config = { scope: 'inference', encodeError: chat.encodeError } as const
  app.post('/v1/chat/completions', { config }, createDialectHandler(deps, chat))
  app.post('/v1/completions', { config }, createDialectHandler(deps, completions))
  app.post(
    '/v1/embeddings',
    { config },
    createCallHandler(deps, (body) => {
      const { request, format, ignored, nameOf } = decodeEmbeddings(body)
      const run = async (caller: CallerContext) => {
        const model = deps.resolveModel(request.model)
        return encodeEmbeddings(await embed(request, { ...caller, model }), format)
      }
      return { ignored, nameOf, run }
    }),
  )
  app.post(
    '/v1/rerank',
    { config },
    createScoring(deps, decodeRerank, (request, context) => rank(request, context)),
  )
  app.post(
    '/v1/score/evaluation',
    { config },
    createScoring(deps, decodeScoreEvaluation, (request, context) => score(deps, request, context)),
  )
}

type Scorer<Result> = (request: RankRequest, context: RequestContext) => Promise<Result & { readonly model: string }>

function createScoring<Result>(deps: ServerDeps, decode: (body: unknown) => ScoringCall<Result>, score: Scorer<Result>) {
  return createCallHandler(deps, (body) => {
    const { model, request, nameOf, ignored, encode } = decode(body)
    const run = async (caller: CallerContext) => encode(await score(request, { ...caller, model: deps.resolveModel(model) }))
    return { ignored, nameOf, run }
  })
}
