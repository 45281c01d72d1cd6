import type { JsonObject } from '../../contract/request.ts'
import type { ItemPage, StoredResponse } from '../../contract/store.ts'
import { encodePage } from '../openai/lists.ts'
import type { ChatCompletion, DeletedChat, StoredChat, StoredMessages } from './replies.ts'
import type { ChatWire } from './schema.ts'

/** The part of a request that is stored beside its reply. */
export type KeptRequest = { readonly messages: readonly JsonObject[]; readonly options: KeptOptions }

type KeptOptions = Omit<StoredChat, keyof ChatCompletion | 'request_id' | 'input_messages'>

/** What to keep of a request; undefined where it does not ask for it, or, where all are kept, asks not to. */
export function keptRequest(wire: ChatWire, keepsAll: boolean): KeptRequest | undefined {
  if (!(wire.store ?? keepsAll)) return undefined
  const options: KeptOptions = {
    tools: wire.tools ?? null,
    tool_choice: wire.tool_choice ?? null,
    response_format: wire.response_format ?? null,
    seed: wire.seed ?? null,
    temperature: wire.temperature ?? null,
    top_p: wire.top_p ?? null,
    presence_penalty: wire.presence_penalty ?? null,
    frequency_penalty: wire.frequency_penalty ?? null,
    service_tier: wire.service_tier ?? null,
    input_user: wire.user ?? null,
    metadata: wire.metadata ?? {},
  }
  return { messages: wire.messages, options }
}

type Reply = {
  readonly id: string
  readonly requestId: string | null
  readonly createdAtMs: number
  readonly completion: ChatCompletion
}

/** A completion as the store keeps it. */
export function toStored({ messages, options }: KeptRequest, reply: Reply): Omit<StoredResponse, 'owner'> {
  const { id, requestId, createdAtMs } = reply
  const { choices, ...completion } = reply.completion
  return {
    id,
    createdAtMs,
    status: 'completed',
    json: { ...completion, request_id: requestId, ...options },
    input: messages.map((json, index) => ({ id: `${id}-${index}`, json })),
    output: choices.map((json, index) => ({ id: `${id}-choice-${index}`, json })),
  }
}

/** A stored completion: OpenAI's object, with `input_messages` for clients of llama-stack. */
export function encodeStored({ json, input, output }: StoredResponse): JsonObject {
  return { ...json, choices: output.map((choice) => choice.json), input_messages: input.map((message) => message.json) }
}

/** The messages of a stored completion. Content that was sent in parts is in `content_parts`; `content` is then null. */
export function encodeStoredMessages({ items, hasMore }: ItemPage): StoredMessages {
  const messages = items.map(({ id, json }) => {
    const { content } = json
    const isInParts = Array.isArray(content)
    return { ...json, id, content: isInParts ? null : (content ?? null), content_parts: isInParts ? content : null }
  })
  return encodePage(messages, { ids: items.map(({ id }) => id), hasMore })
}

export function encodeDeleted(id: string): DeletedChat {
  return { id, object: 'chat.completion.deleted', deleted: true }
}
