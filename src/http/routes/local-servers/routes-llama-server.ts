import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../../contract/errors.ts'
import { countTokens } from '../../../core/uses/count-tokens.ts'
import { llamaCompletion, llamaInfill } from '../../../dialect/llama-server/dialect.ts'
import { encodeLlamaServerError } from '../../../dialect/llama-server/errors.ts'
import { decodeChat } from '../../../dialect/openai-chat/decode.ts'
import { decodeEmbeddings, encodeLlamaEmbeddings, withInput } from '../../../dialect/openai-embeddings/embeddings.ts'
import { callerOf } from '../../access/caller.ts'
import { conversationOf } from '../../run/conversation.ts'
import { withModel } from '../../run/default-model.ts'
import { createEmbedHandler } from '../../run/embed-call.ts'
import { type ModelQuery, modelOfQuery } from '../../run/model-query.ts'
import type { CallerContext } from '../../run/open-run.ts'
import { createCallHandler } from '../../run/serve-call.ts'
import { createDialectHandler, type DialectDeps } from '../../run/serve-dialect.ts'

/** Routes that llama-server refuses without their option, and what applies instead. */
const notSupported = [
  ['/props', "This server does not support changing global properties: they are those of the model's configuration"],
  [
    '/slots/:slot',
    'This server does not support slots action: it keeps the slots itself, and equal prefixes are reused without it',
  ],
] as const

/** llama-server's own routes; those shared with OpenAI are registered there, also without `/v1`. */
export function addLlamaServerRoutes(app: FastifyInstance, deps: DialectDeps): void {
  const config = { scope: 'inference', encodeError: encodeLlamaServerError } as const
  for (const path of ['/completion', '/completions']) app.post(path, { config }, createDialectHandler(deps, llamaCompletion))
  app.post('/infill', { config }, createDialectHandler(deps, llamaInfill))
  for (const path of ['/embedding', '/embeddings']) {
    const handler = createEmbedHandler(deps, (body) => {
      const { format: _, ...call } = decodeEmbeddings(withInput(body))
      return { ...call, encode: encodeLlamaEmbeddings }
    })
    app.post(path, { config }, handler)
  }
  app.post(
    '/v1/chat/completions/input_tokens',
    { config },
    createCallHandler(deps, (body, { principal }) => {
      const { request, ignored, nameOf } = decodeChat(withModel(body, deps, principal), '')
      const run = async (caller: CallerContext) => {
        const model = await deps.models.find(request.model, principal)
        const { inputTokens } = await countTokens(deps, conversationOf(request), { ...caller, model })
        return { object: 'response.input_tokens', input_tokens: inputTokens }
      }
      return { ignored, nameOf, run }
    }),
  )
  // Slots are the model's; they show nobody's prompts.
  app.get<ModelQuery>('/slots', { config }, (request) => {
    const { engine, scheduler } = deps.models.get(modelOfQuery(request, deps), callerOf(request))
    const { slots, busy } = scheduler.load
    const n_ctx = engine.facts.contextLength ?? 0
    return Array.from({ length: slots }, (_, id) => ({ id, n_ctx, speculative: false, is_processing: id < busy }))
  })
  for (const method of ['GET', 'POST'] as const) {
    const handler = (request: FastifyRequest) => {
      const message = 'this feature is disabled'
      request.absentReply = { status: 403, body: { error: { message, type: 'feature_disabled' } } }
      throw new AppError('route-not-found', message)
    }
    app.route({ method, url: '/tools', config: { ...config, isRefusal: true }, handler })
  }
  for (const [path, why] of notSupported) {
    app.post(path, { config: { ...config, isRefusal: true } }, (request) => {
      request.absentReply = { status: 501, body: { error: { code: 501, message: why, type: 'not_supported_error' } } }
      throw new AppError('route-not-found', why)
    })
  }
}
