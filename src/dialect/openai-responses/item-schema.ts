import { z } from 'zod'
import { jsonObject, list, looseObject, openObject } from '../wire/first-fault.ts'
import { nonEmptyText, text, typeOtherThan } from '../wire/wire-types.ts'
import { serverItems, serverItemTypes } from './server-tools/item-schema.ts'
import { tool } from './tool-schema.ts'

/** Accepted in items and parts: replies contain them, and the last is unnecessary, since equal prefixes are always reused. */
const common = { also: ['logprobs', 'caller', 'created_by', 'prompt_cache_breakpoint'] }

/** A source of a text; types newer than this code are left out. */
const annotation = openObject({
  type: z.string(),
  url: text,
  title: text,
  start_index: z.int().nullish(),
  end_index: z.int().nullish(),
  file_id: text,
  filename: text,
  index: z.int().nullish(),
})
export type WireAnnotation = z.output<typeof annotation>

const textPart = looseObject(
  {
    type: z.enum(['input_text', 'output_text', 'text']),
    text: z.string(),
    annotations: list(annotation).nullish(),
  },
  common,
)
const refusalPart = looseObject({ type: z.literal('refusal'), refusal: z.string() }, common)
const imagePart = looseObject({ type: z.literal('input_image'), image_url: text, file_id: text, detail: text }, common)
const filePart = looseObject(
  {
    type: z.literal('input_file'),
    file_data: text,
    file_id: text,
    file_url: text,
    filename: text,
  },
  common,
)
const inputAudio = looseObject({ data: z.string(), format: text })
const audioPart = looseObject({ type: z.literal('input_audio'), input_audio: inputAudio }, common)

/** Another type is an error, so that nothing is lost silently. */
export const wirePart = z.discriminatedUnion('type', [textPart, refusalPart, imagePart, filePart, audioPart])
/** A part of a message or of a tool's result. */
export type WirePart = z.output<typeof wirePart>
const content = z.union([z.string(), list(wirePart, { error: 'an array of content parts' })])

const id = nonEmptyText.nullish()

const message = looseObject(
  {
    // A message needs no type.
    type: z.literal('message').optional(),
    id,
    role: z.enum(['user', 'assistant', 'system', 'developer']),
    content,
    phase: text,
    status: text,
  },
  common,
)
const thoughtText = openObject({ text: z.string() })
const reasoning = looseObject(
  {
    type: z.literal('reasoning'),
    id,
    summary: list(thoughtText).nullish(),
    content: list(thoughtText).nullish(),
    encrypted_content: text,
    status: text,
  },
  common,
)
const functionCall = looseObject(
  {
    type: z.literal('function_call'),
    id,
    call_id: nonEmptyText,
    name: nonEmptyText,
    namespace: text,
    /** A JSON string in OpenAI's API; some clients send the object. */
    arguments: z.union([z.string(), jsonObject]).nullish(),
    status: text,
  },
  common,
)
const functionOutput = looseObject(
  {
    type: z.literal('function_call_output'),
    id,
    call_id: nonEmptyText,
    output: content,
    status: text,
  },
  common,
)
const customCall = looseObject(
  {
    type: z.literal('custom_tool_call'),
    id,
    call_id: nonEmptyText,
    name: nonEmptyText,
    namespace: text,
    input: z.string(),
    status: text,
  },
  common,
)
const customOutput = looseObject(
  {
    type: z.literal('custom_tool_call_output'),
    id,
    call_id: nonEmptyText,
    output: content,
    status: text,
  },
  common,
)
/** Tools declared by the conversation instead of the request, as Codex sends them. */
const additionalTools = looseObject({ type: z.literal('additional_tools'), id, role: text, tools: list(tool) }, common)
/** A search for tools; those that OpenAI's servers run have no `call_id`. */
const searchCall = looseObject(
  {
    type: z.literal('tool_search_call'),
    id,
    call_id: text,
    execution: text,
    arguments: z.unknown(),
    status: text,
  },
  common,
)
const searchOutput = looseObject(
  {
    type: z.literal('tool_search_output'),
    id,
    call_id: text,
    execution: text,
    tools: list(tool),
    status: text,
  },
  common,
)
const itemReference = openObject({ type: z.literal('item_reference'), id: nonEmptyText })
const compaction = looseObject({ type: z.literal('compaction'), id, encrypted_content: nonEmptyText }, common)
const compactionTrigger = openObject({ type: z.literal('compaction_trigger') })

const knownItem = z.discriminatedUnion('type', [
  message,
  reasoning,
  functionCall,
  functionOutput,
  customCall,
  customOutput,
  additionalTools,
  searchCall,
  searchOutput,
  itemReference,
  compaction,
  compactionTrigger,
  ...serverItems,
])
const knownTypes = new Set([
  'message',
  'reasoning',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'additional_tools',
  'tool_search_call',
  'tool_search_output',
  'item_reference',
  'compaction',
  'compaction_trigger',
  ...serverItemTypes,
])
/** Items of tools that OpenAI defines, and items newer than this code: `other-items.ts` reads what it can. */
const otherItem = openObject({ type: typeOtherThan((type) => knownTypes.has(type)), id })

export const wireItem = z.union([knownItem, otherItem])

export type KnownItem = z.output<typeof knownItem>
export type OtherItem = z.output<typeof otherItem>
export type WireItem = z.output<typeof wireItem>

export function isKnownItem(item: WireItem): item is KnownItem {
  return item.type === undefined || knownTypes.has(item.type)
}
