import { randomHex } from '../base/random-hex.ts'
import type { RequestContext } from '../contract/context.ts'
import type { StoredItem } from '../contract/store.ts'
import { decodeResponse, type ResponseTerms } from '../dialect/openai-responses/decode.ts'
import { readReferences } from '../dialect/openai-responses/decode-references.ts'
import { type SentKeys, withCallerKeys } from './caller-keys.ts'
import { findReferences, refuseWithoutStore } from './references.ts'
import { ResponseRun } from './response-run.ts'
import type { ResponsesService } from './service.ts'

/** A caller before its model is known; `id` is also the response's. */
export type Caller = Omit<RequestContext, 'model'>

type AcceptOptions = {
  /** The history of a response known only to this connection. */
  readonly recall?: (id: string) => readonly StoredItem[] | undefined
  /** Keys for the servers behind the model. */
  readonly sentKeys?: SentKeys | undefined
  /** False: a warm-up, which generates nothing. */
  readonly generates?: boolean
  /** Terms of another protocol in front. */
  readonly terms?: ResponseTerms
}

export function createResponseId(): string {
  return `resp_${randomHex()}`
}

/** Checks a request and finds its references. Rejects with what is wrong, in the caller's words. Close the run, even if it never ran. */
export async function acceptResponse(
  service: ResponsesService,
  given: unknown,
  { caller, recall, sentKeys, generates = true, terms }: AcceptOptions & { readonly caller: Caller },
): Promise<ResponseRun> {
  const { store, sealerOf, wallClock } = service
  const body = service.withModel(given, caller.principal)
  const refs = readReferences(body)
  if (store === undefined) refuseWithoutStore(body, refs)
  const owner = caller.principal.id
  const release = refs.conversationId === undefined ? () => undefined : await service.locks.lock(owner, refs.conversationId)
  try {
    const createdAtMs = wallClock()
    const references = await findReferences(refs, { owner, store, nowMs: createdAtMs, ...(recall !== undefined && { recall }) })
    const { history, items } = references
    const stored = store === undefined ? withoutStoring(body) : body
    const serverTools = service.tools?.namesFor(caller.principal)
    const known = { id: caller.id, createdAtMs, sealer: sealerOf(owner), history, items, serverTools, generates, terms }
    const decoding = decodeResponse(stored, known)
    const decoded = withCallerKeys(decoding, sentKeys)
    const model = await service.models.find(decoded.request.model, caller.principal)
    const context = { model, ...(decoded.background && { lane: 'background' as const }), ...caller }
    return new ResponseRun(service, { decoded, references, context, createdAtMs, generates, release })
  } catch (error) {
    release()
    throw error
  }
}

/** So that the reply reports what happens. */
function withoutStoring(body: unknown): unknown {
  return typeof body === 'object' && body !== null ? { ...body, store: false } : body
}
