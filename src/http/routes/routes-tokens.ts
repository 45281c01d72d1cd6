import type { FastifyInstance } from 'fastify'
import type { DetokenizeRequest, TokenizeRequest } from '../../contract/engine.ts'
import { detokenize, pieces, render, tokenize } from '../../core/uses/use-tokenizer.ts'
import { encodeOpenaiError } from '../../dialect/openai/errors.ts'
import { decodeChat } from '../../dialect/openai-chat/decode.ts'
import {
  decodeDetokenize,
  decodeTokenDecode,
  decodeTokenEncode,
  decodeTokenize,
  encodePiece,
  type TokenCall,
} from '../../dialect/tokens/decode.ts'
import { conversationOf } from '../run/conversation.ts'
import { defaultModelName, withModel } from '../run/default-model.ts'
import type { Generating, Models, Watching } from '../run/deps.ts'
import type { CallerContext } from '../run/open-run.ts'
import { createCallHandler } from '../run/serve-call.ts'

/** tabbyAPI's and llama-server's routes for a model's tokenizer and chat template. */
export function addTokenRoutes(app: FastifyInstance, deps: Generating & Models & Watching): void {
  const config = { scope: 'inference', encodeError: encodeOpenaiError } as const
  const answerTokens = (decode: (body: unknown) => TokenCall<TokenizeRequest>, encode: (tokens: readonly number[]) => unknown) =>
    createCallHandler(deps, (body, { principal }) => {
      const { request, model = defaultModelName(deps, principal), ignored, nameOf } = decode(body)
      const run = async (caller: CallerContext) =>
        encode(await tokenize(deps, request, { ...caller, model: await deps.models.find(model, caller.principal) }))
      return { ignored, nameOf, run }
    })
  const answerText = (decode: (body: unknown) => TokenCall<DetokenizeRequest>, encode: (text: string) => unknown) =>
    createCallHandler(deps, (body, { principal }) => {
      const { request, model = defaultModelName(deps, principal), ignored, nameOf } = decode(body)
      const run = async (caller: CallerContext) =>
        encode(await detokenize(request, { ...caller, model: await deps.models.find(model, caller.principal) }))
      return { ignored, nameOf, run }
    })

  app.post(
    '/v1/token/encode',
    { config },
    answerTokens(
      (body) => decodeTokenEncode(body, readChat),
      (tokens) => ({ tokens, length: tokens.length }),
    ),
  )
  app.post(
    '/v1/token/decode',
    { config },
    answerText(decodeTokenDecode, (text) => ({ text })),
  )
  // text-generation-webui's route.
  app.post(
    '/v1/internal/encode',
    { config },
    answerTokens(
      (body) => decodeTokenEncode(body, readChat),
      (tokens) => ({ tokens, length: tokens.length }),
    ),
  )
  app.post(
    '/v1/internal/decode',
    { config },
    answerText(decodeTokenDecode, (text) => ({ text })),
  )
  app.post(
    '/v1/internal/token-count',
    { config },
    answerTokens(
      (body) => decodeTokenEncode(body, readChat),
      (tokens) => ({ length: tokens.length }),
    ),
  )
  // The second path is for clients whose base URL has `/v1`.
  for (const path of ['/tokenize', '/v1/tokenize']) {
    const handler = createCallHandler(deps, (body, { principal }) => {
      const {
        request,
        model: name = defaultModelName(deps, principal),
        ignored,
        nameOf,
        isVllm,
        withPieces,
      } = decodeTokenize(body)
      const run = async (caller: CallerContext) => {
        const model = await deps.models.find(name, caller.principal)
        if (withPieces) return { tokens: (await pieces(deps, request, { ...caller, model })).map(encodePiece) }
        const tokens = await tokenize(deps, request, { ...caller, model })
        if (!isVllm) return { tokens }
        const { contextLength } = model.engine.facts
        return { count: tokens.length, max_model_len: contextLength ?? null, tokens, token_strs: null }
      }
      return { ignored, nameOf, run }
    })
    app.post(path, { config }, handler)
  }
  app.post(
    '/detokenize',
    { config },
    answerText(decodeDetokenize, (content) => ({ content })),
  )
  app.post(
    '/apply-template',
    { config },
    createCallHandler(deps, (body, { principal }) => {
      const { request, ignored, nameOf } = decodeChat(withModel(body, deps, principal), '')
      const { model } = request
      const conversation = conversationOf(request)
      const run = async (caller: CallerContext) => ({
        prompt: await render(deps, conversation, { ...caller, model: await deps.models.find(model, caller.principal) }),
      })
      return { ignored, nameOf, run }
    }),
  )
}

const readChat = (body: unknown) => decodeChat(body, '')
