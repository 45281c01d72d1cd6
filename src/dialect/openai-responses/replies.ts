import type { z } from 'zod'
import type { StoredItem } from '../../contract/store.ts'
import { page } from '../openai/replies.ts'
import { anyObject, anything, flag, is, list, named, number, object, oneOf, text } from '../wire/json/shapes.ts'

export const responseUsage = object({
  input_tokens: number,
  input_tokens_details: object({ cached_tokens: number, cache_write_tokens: number }),
  output_tokens: number,
  output_tokens_details: object({ reasoning_tokens: number }),
  total_tokens: number,
})
export type ResponseUsage = z.input<typeof responseUsage>
export const responseItem = named('ResponseItem', object({ type: text, id: text.optional() }).catchall(anything))
export type ResponseItem = z.input<typeof responseItem>
/** An item that the server made. */
export type MadeItem = StoredItem & { readonly json: ResponseItem }
export const response = named(
  'Response',
  object({
    id: text,
    object: is('response'),
    created_at: number,
    completed_at: number.nullable(),
    status: oneOf(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
    error: object({ code: text, message: text }).nullable(),
    incomplete_details: object({ reason: text }).nullable(),
    model: text,
    output: list(responseItem),
    usage: responseUsage.nullable(),
    background: flag,
    conversation: object({ id: text }).nullable(),
    instructions: anything,
    max_output_tokens: number.nullable(),
    max_tool_calls: number.nullable(),
    metadata: anyObject,
    parallel_tool_calls: flag,
    previous_response_id: text.nullable(),
    prompt_cache_key: text.nullable(),
    prompt_cache_diagnostics: object({
      type: oneOf(['cache_hit', 'cache_miss', 'comparison_response_not_found', 'unavailable']),
      reason: text.optional(),
      cache_missed_tokens: number.optional(),
    }).optional(),
    reasoning: anyObject,
    safety_identifier: text.nullable(),
    service_tier: text,
    store: flag,
    temperature: number,
    text: anyObject,
    tool_choice: anything,
    tools: list(anyObject),
    top_logprobs: number,
    top_p: number,
    presence_penalty: number,
    frequency_penalty: number,
    truncation: text,
    user: text.optional(),
  }),
)
export type WireResponse = z.input<typeof response>
export const responseEvent = named(
  'ResponseEvent',
  object({ type: text, sequence_number: number, response: response.optional() }).catchall(anything),
)
export const responseList = object({ object: is('list'), data: list(response), ...page })
export const itemList = named('ItemList', object({ object: is('list'), data: list(responseItem), ...page }))
export const compaction = object({
  id: text,
  object: is('response.compaction'),
  created_at: number,
  output: list(responseItem),
  usage: responseUsage,
})
export type Compaction = z.input<typeof compaction>
export const inputTokens = named('InputTokens', object({ object: is('response.input_tokens'), input_tokens: number }))
export type InputTokens = z.input<typeof inputTokens>
export const deletedResponse = object({ id: text, object: is('response'), deleted: is(true) })
export const conversation = named(
  'Conversation',
  object({ id: text, object: is('conversation'), created_at: number, metadata: anyObject }),
)
export type WireConversation = z.input<typeof conversation>
export const deletedConversation = object({ id: text, object: is('conversation.deleted'), deleted: is(true) })
export type DeletedConversation = z.input<typeof deletedConversation>
