import { AppError } from '../../contract/errors.ts'
import { validate } from '../wire/validate.ts'
import { referencesSchema } from './schema.ts'

/** The stored things that a body refers to, and how it wants to be run. */
export type References = {
  readonly model: string
  readonly previousResponseId?: string
  readonly conversationId?: string
  /** The ids of items that the input refers to. */
  readonly itemIds: readonly string[]
  readonly store: boolean
  readonly background: boolean
  readonly stream: boolean
}

/** Reads what is needed to fetch a body's history. Throws `invalid-request` for wrong types and contradictions. */
export function readReferences(body: unknown): References {
  const wire = validate(referencesSchema, body)
  const { model, previous_response_id: previousResponseId, input } = wire
  const conversationId = typeof wire.conversation === 'string' ? wire.conversation : wire.conversation?.id
  const store = wire.store ?? true
  const background = wire.background ?? false
  if (typeof previousResponseId === 'string' && conversationId !== undefined) {
    const message = 'previous_response_id and conversation both name a history: send one of them'
    throw new AppError('invalid-request', message, { param: 'previous_response_id' })
  }
  if (background && !store) {
    const message = 'background true needs store true, because the reply is fetched later: send one of them'
    throw new AppError('invalid-request', message, { param: 'background' })
  }
  return {
    model,
    ...(typeof previousResponseId === 'string' && { previousResponseId }),
    ...(conversationId !== undefined && { conversationId }),
    itemIds: Array.isArray(input) ? input.flatMap(referenceOf) : [],
    store,
    background,
    stream: wire.stream ?? false,
  }
}

function referenceOf({ type, id }: { readonly type?: unknown; readonly id?: unknown }): readonly string[] {
  return type === 'item_reference' && typeof id === 'string' ? [id] : []
}
