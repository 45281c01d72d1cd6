import type { FastifyInstance } from 'fastify'
import type { RankRequest } from '../contract/engine.ts'
import { embed } from '../core/embed.ts'
import { rank } from '../core/rank.ts'
import { score } from '../core/score.ts'
import type { AskOptions } from '../core/text-work.ts'
import { encodeModelDetail, encodeModelList } from '../dialect/openai/models.ts'
import { createOpenaiChat } from '../dialect/openai-chat/dialect.ts'
import { createOpenaiCompletions } from '../dialect/openai-completions/dialect.ts'
import { decodeEmbeddings } from '../dialect/openai-embeddings/decode.ts'
import { encodeEmbeddings } from '../dialect/openai-embeddings/encode.ts'
import { decodeRerank, decodeScoreEvaluation, renameTexts, type ScoringCall } from '../dialect/scoring/scoring.ts'
import { type ServerDeps, systemFingerprint } from './deps.ts'
import { createCallHandler } from './serve-call.ts'
import { createDialectHandler } from './serve-dialect.ts'

/** OpenAI's routes under `/v1`. */
export function addOpenaiRoutes(app: FastifyInstance, deps: ServerDeps): void {
  const openaiChat = createOpenaiChat({
    reasoningFields: deps.reasoningFields ?? 'both',
    systemFingerprint: systemFingerprint(deps),
  })
  const config = { scope: 'inference', encodeError: openaiChat.encodeError } as const
  app.post('/v1/chat/completions', { config }, createDialectHandler(deps, openaiChat))
  app.post(
    '/v1/completions',
    { config },
    createDialectHandler(deps, createOpenaiCompletions({ systemFingerprint: systemFingerprint(deps) })),
  )
  app.post(
    '/v1/embeddings',
    { config },
    createCallHandler(deps, (body) => {
      const { request, format, ignored } = decodeEmbeddings(body)
      return { ignored, run: async (signal) => encodeEmbeddings(await embed(deps, request, signal), format) }
    }),
  )
  app.post('/v1/rerank', { config }, createScoring(deps, decodeRerank, rank))
  app.post('/v1/score/evaluation', { config }, createScoring(deps, decodeScoreEvaluation, score))
  app.get('/v1/models', { config }, () => encodeModelList(deps.models.list()))
  // A wildcard, because ids may have slashes.
  app.get<{ Params: { '*': string } }>('/v1/models/*', { config }, (request) =>
    encodeModelDetail(deps.models.get(request.params['*'])),
  )
}

type Judge<Result> = (deps: ServerDeps, request: RankRequest, options: AskOptions) => Promise<Result & { readonly model: string }>

function createScoring<Result>(deps: ServerDeps, decode: (body: unknown) => ScoringCall<Result>, judge: Judge<Result>) {
  return createCallHandler(deps, (body) => {
    const { model, request, textsField, ignored, encode } = decode(body)
    const run = async (signal: AbortSignal) => {
      try {
        return encode(await judge(deps, request, { model, signal }))
      } catch (error) {
        throw renameTexts(error, textsField)
      }
    }
    return { ignored, run }
  })
}
