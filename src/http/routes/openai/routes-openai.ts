import type { FastifyInstance } from 'fastify'
import type { Dialect } from '../../../contract/dialect.ts'
import { rank } from '../../../core/uses/rank.ts'
import { score } from '../../../core/uses/score.ts'
import { withProviderData } from '../../../dialect/llama-stack/provider-data.ts'
import { createOpenaiChat } from '../../../dialect/openai-chat/dialect.ts'
import { createOpenaiCompletions } from '../../../dialect/openai-completions/dialect.ts'
import { openaiDecisions } from '../../../dialect/openai-decisions/dialect.ts'
import { decodeEmbeddings, encodeEmbeddings } from '../../../dialect/openai-embeddings/embeddings.ts'
import { decodeRerank, decodeScoreEvaluation } from '../../../dialect/scoring/scoring.ts'
import { withDebugConfig } from '../../run/debug-config.ts'
import { type Operating, type Replying, systemFingerprint } from '../../run/deps.ts'
import { createEmbedHandler } from '../../run/embed-call.ts'
import { createScoringHandler } from '../../run/scoring-call.ts'
import { createDialectHandler, type DialectDeps } from '../../run/serve-dialect.ts'

export type OpenaiDialects = { readonly openai: { readonly chat: Dialect; readonly completions: Dialect } }

export function createOpenaiDialects(deps: Replying): OpenaiDialects['openai'] {
  const shared = { systemFingerprint: systemFingerprint(deps), usageTimes: deps.usageTimes }
  return {
    chat: withProviderData(createOpenaiChat({ reasoningFields: deps.reasoningFields ?? 'both', ...shared })),
    completions: withProviderData(createOpenaiCompletions(shared)),
  }
}

/** OpenAI's routes under `/v1`. */
export function addOpenaiRoutes(app: FastifyInstance, deps: DialectDeps & Operating & OpenaiDialects): void {
  const { chat, completions } = deps.openai
  const config = { scope: 'inference', encodeError: chat.encodeError } as const
  const handlers = { chat: createDialectHandler(deps, chat), completions: createDialectHandler(deps, completions) }
  app.post('/v1/chat/completions', { config }, withDebugConfig(deps, handlers.chat, 'chat.completion.chunk'))
  app.post('/v1/completions', { config }, withDebugConfig(deps, handlers.completions, 'text_completion'))
  app.post('/v1/decisions', { config }, createDialectHandler(deps, openaiDecisions))
  app.post(
    '/v1/embeddings',
    { config },
    createEmbedHandler(deps, (body) => {
      const { format, ...call } = decodeEmbeddings(body)
      return { ...call, encode: (result) => encodeEmbeddings(result, format) }
    }),
  )
  app.post('/v1/rerank', { config }, createScoringHandler(deps, { decode: decodeRerank, ranks: true, score: rank }))
  app.post(
    '/v1/score/evaluation',
    { config },
    createScoringHandler(deps, { decode: decodeScoreEvaluation, score: (request, context) => score(deps, request, context) }),
  )
}
