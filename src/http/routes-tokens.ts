import type { FastifyInstance } from 'fastify'
import type { TokenizeRequest } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { GenerationRequest } from '../contract/request.ts'
import { detokenize, render, tokenize } from '../core/text-work.ts'
import { encodeOpenaiError } from '../dialect/openai/errors.ts'
import { decodeChat } from '../dialect/openai-chat/decode.ts'
import {
  type DetokenizeRequest,
  decodeDetokenize,
  decodeTokenDecode,
  decodeTokenEncode,
  decodeTokenize,
  type TokenCall,
} from '../dialect/tokens/decode.ts'
import { defaultModelName } from './default-model.ts'
import type { ServerDeps } from './deps.ts'
import { createCallHandler } from './serve-call.ts'

/** What a model's tokenizer and chat template are asked, in tabbyAPI's words and in llama-server's. */
export function addTokenRoutes(app: FastifyInstance, deps: ServerDeps): void {
  const config = { scope: 'inference', encodeError: encodeOpenaiError } as const
  const answerTokens = (decode: (body: unknown) => TokenCall<TokenizeRequest>, encode: (tokens: readonly number[]) => unknown) =>
    createCallHandler(deps, (body) => {
      const { request, model = defaultModelName(deps.models), ignored } = decode(body)
      return { ignored, run: async (signal) => encode(await tokenize(deps, request, { model, signal })) }
    })
  const answerText = (decode: (body: unknown) => TokenCall<DetokenizeRequest>, encode: (text: string) => unknown) =>
    createCallHandler(deps, (body) => {
      const { request, model = defaultModelName(deps.models), ignored } = decode(body)
      return { ignored, run: async (signal) => encode(await detokenize(deps, request, { model, signal })) }
    })

  app.post(
    '/v1/token/encode',
    { config },
    answerTokens(decodeTokenEncode, (tokens) => ({ tokens, length: tokens.length })),
  )
  app.post(
    '/v1/token/decode',
    { config },
    answerText(decodeTokenDecode, (text) => ({ text })),
  )
  app.post(
    '/tokenize',
    { config },
    answerTokens(decodeTokenize, (tokens) => ({ tokens })),
  )
  app.post(
    '/detokenize',
    { config },
    answerText(decodeDetokenize, (content) => ({ content })),
  )
  app.post(
    '/apply-template',
    { config },
    createCallHandler(deps, (body) => {
      const { request, ignored } = decodeChat(withModel(body, deps), '')
      const { model, reasoning, toolChoice } = request
      const conversation = { prompt: chatPrompt(request), reasoning, toolChoice }
      return { ignored, run: async (signal) => ({ prompt: await render(deps, conversation, { model, signal }) }) }
    }),
  )
}

/** llama-server's clients name no model. */
function withModel(body: unknown, { models }: ServerDeps): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
  const { model } = body as { readonly model?: unknown }
  return model === undefined || model === null ? { ...body, model: defaultModelName(models) } : body
}

function chatPrompt({ prompt }: GenerationRequest) {
  if (prompt.type === 'chat') return prompt
  throw new AppError('internal', 'a chat was decoded to something else')
}
