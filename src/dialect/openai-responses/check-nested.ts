import { checkConstraints } from '../openai/check-common-nested.ts'
import { indexFields } from '../wire/field-table.ts'
import { createNestedCheck, type Keys, keysOf } from '../wire/nested-check.ts'
import { nestedResponseFields } from './fields.ts'
import {
  additionalTools,
  audioPart,
  compaction,
  customCall,
  customOutput,
  filePart,
  functionCall,
  functionOutput,
  imagePart,
  isKnownItem,
  message,
  reasoning,
  refusalPart,
  searchCall,
  searchOutput,
  textPart,
  type WireItem,
} from './item-schema.ts'
import {
  conversationObject,
  formats,
  managementEntry,
  type ResponseWire,
  reasoningObject,
  streamOptions,
  textObject,
} from './schema.ts'
import { customTool, functionTool, isKnownTool, namespaceTool } from './tool-schema.ts'

/** Accepted everywhere: replies have them, and equal prefixes are reused without the last. */
const everywhere = ['logprobs', 'caller', 'created_by', 'prompt_cache_breakpoint']

const itemKeys: Readonly<Record<string, Keys>> = {
  message: withCommon(message),
  reasoning: withCommon(reasoning),
  function_call: withCommon(functionCall),
  function_call_output: withCommon(functionOutput),
  custom_tool_call: withCommon(customCall),
  custom_tool_call_output: withCommon(customOutput),
  additional_tools: withCommon(additionalTools),
  tool_search_call: withCommon(searchCall),
  tool_search_output: withCommon(searchOutput),
  compaction: withCommon(compaction),
}
const partKeys: Readonly<Record<string, Keys>> = {
  input_text: withCommon(textPart),
  output_text: withCommon(textPart),
  text: withCommon(textPart),
  refusal: withCommon(refusalPart),
  input_image: withCommon(imagePart),
  input_file: withCommon(filePart),
  input_audio: withCommon(audioPart),
}
const toolKeys: Readonly<Record<string, Keys>> = {
  function: keysOf(functionTool),
  custom: keysOf(customTool),
  namespace: keysOf(namespaceTool),
}
const formatKeys: Readonly<Record<keyof typeof formats, Keys>> = {
  text: keysOf(formats.text),
  json_object: keysOf(formats.json_object),
  json_schema: keysOf(formats.json_schema),
}
const textKeys = keysOf(textObject)
const reasoningKeys = keysOf(reasoningObject)
const streamKeys = keysOf(streamOptions)
const conversationKeys = keysOf(conversationObject)
const managementKeys = keysOf(managementEntry)

const nestedIndex = indexFields(nestedResponseFields)

/** The unknown fields inside the objects of a body, as paths without indices, each once. */
export function checkNested(wire: ResponseWire): string[] {
  const nested = createNestedCheck(nestedIndex)
  const { check, ignored } = nested
  for (const [index, item] of (Array.isArray(wire.input) ? wire.input : []).entries()) {
    const keys = itemKeys[item.type ?? 'message']
    // Other items are ignored as a whole.
    if (keys === undefined) continue
    check(item, keys, { path: 'input[]', index })
    for (const [field, parts] of contentsOf(item)) {
      for (const part of parts) check(part, partKeys[part.type] ?? new Set(), { path: `input[].${field}[]`, index })
    }
  }
  for (const [index, tool] of (wire.tools ?? []).entries()) {
    if (!isKnownTool(tool)) continue
    check(tool, toolKeys[tool.type] ?? new Set(), { path: 'tools[]', index })
    if (tool.type !== 'namespace') continue
    for (const member of tool.tools) check(member, toolKeys[member.type] ?? new Set(), { path: 'tools[].tools[]', index })
  }
  check(wire.text, textKeys, { path: 'text' })
  const format = wire.text?.format
  if (format) check(format, formatKeys[format.type], { path: 'text.format' })
  check(wire.reasoning, reasoningKeys, { path: 'reasoning' })
  for (const [index, entry] of (wire.context_management ?? []).entries()) {
    check(entry, managementKeys, { path: 'context_management[]', index })
  }
  checkConstraints(nested, wire)
  check(wire.stream_options, streamKeys, { path: 'stream_options' })
  if (typeof wire.conversation === 'object') check(wire.conversation, conversationKeys, { path: 'conversation' })
  return [...ignored]
}

/** The lists of parts in an item, by field. */
function contentsOf(item: WireItem): readonly (readonly [string, readonly { readonly type: string }[]])[] {
  if (!isKnownItem(item)) return []
  if (item.type === undefined || item.type === 'message') return Array.isArray(item.content) ? [['content', item.content]] : []
  const isOutput = item.type === 'function_call_output' || item.type === 'custom_tool_call_output'
  return isOutput && Array.isArray(item.output) ? [['output', item.output]] : []
}

function withCommon(schema: { readonly shape: object }): Keys {
  return new Set([...keysOf(schema), ...everywhere])
}
