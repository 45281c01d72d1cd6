import type { JsonObject } from '../contract/request.ts'
import { countTokens } from '../core/uses/count-tokens.ts'
import type { DecodedResponse, ResponseContext } from '../dialect/openai-responses/decode.ts'
import { decodeCompact, decodeInputTokens, encodeInputTokens } from '../dialect/openai-responses/decode-narrow-calls.ts'
import { readReferences } from '../dialect/openai-responses/decode-references.ts'
import { encodeCompaction } from '../dialect/openai-responses/encode/compaction.ts'
import { type Caller, createResponseId } from './accept.ts'
import { compact } from './compaction.ts'
import { findReferences } from './references.ts'
import type { ResponsesService } from './service.ts'

/** A call that reads a conversation and creates no response. */
export type NarrowCall = { readonly decoded: DecodedResponse; run(): Promise<JsonObject> }

/** `POST /v1/responses/input_tokens`. Rejects as `acceptResponse`. */
export async function acceptCount(service: ResponsesService, given: unknown, caller: Caller): Promise<NarrowCall> {
  const body = service.withModel(given, caller.principal)
  const decoded = decodeInputTokens(body, { ...(await findContext(service, body, caller)), generates: false })
  const context = { ...caller, model: await service.models.find(decoded.request.model, caller.principal) }
  return {
    decoded,
    async run() {
      const { prompt, reasoning, toolChoice, toolUse } = decoded.request
      if (prompt.type !== 'chat') throw new Error('a response was not decoded to a conversation')
      const { inputTokens, isEstimate } = await countTokens(service, { prompt, reasoning, toolChoice, toolUse }, context)
      // An extension: OpenAI always counts.
      return { ...encodeInputTokens(inputTokens), ...(isEstimate && { estimated: true }) }
    },
  }
}

/** `POST /v1/responses/compact`, which names its model. Rejects as `acceptResponse`. */
export async function acceptCompact(service: ResponsesService, body: unknown, caller: Caller): Promise<NarrowCall> {
  const decodeContext = await findContext(service, body, caller)
  const decoded = decodeCompact(body, decodeContext)
  const context = { ...caller, model: await service.models.find(decoded.request.model, caller.principal) }
  return {
    decoded,
    run: async () => {
      const { item, usage } = await compact(service, decoded.request, context)
      return encodeCompaction({ id: decodeContext.id, createdAtMs: decodeContext.createdAtMs, item, usage })
    },
  }
}

async function findContext(service: ResponsesService, body: unknown, { principal }: Caller): Promise<ResponseContext> {
  const { store, sealerOf } = service
  const owner = principal.id
  const createdAtMs = service.wallClock()
  const found = await findReferences(readReferences(body), { owner, store, nowMs: createdAtMs })
  const { history, items } = found
  const serverTools = service.tools?.namesFor(principal)
  return { id: createResponseId(), createdAtMs, sealer: sealerOf(owner), history, items, serverTools }
}
