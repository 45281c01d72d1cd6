import { indexFields } from '../wire/field-table.ts'
import { createNestedCheck, type Keys, keysOf, type NestedCheck } from '../wire/nested-check.ts'
import { nestedFields } from './fields.ts'
import {
  type CommonWire,
  completionMessage,
  image,
  imageItem,
  imageUrl,
  logprobs,
  responseFormats,
  samplingParams,
  strategies,
  systemMessage,
  type ToolWire,
  textItem,
  tool,
  toolCall,
  toolConfig,
  toolParameter,
  toolResponseMessage,
  userMessage,
  type WireContent,
  type WireItem,
  type WireMessage,
} from './schema.ts'

const refused = indexFields(nestedFields)
const messageKeys: Readonly<Record<WireMessage['role'], Keys>> = {
  user: keysOf(userMessage),
  system: keysOf(systemMessage),
  tool: keysOf(toolResponseMessage),
  assistant: keysOf(completionMessage),
}
const itemKeys: Readonly<Record<WireItem['type'], Keys>> = { text: keysOf(textItem), image: keysOf(imageItem) }
const imageKeys = keysOf(image)
const imageUrlKeys = keysOf(imageUrl)
const toolCallKeys = keysOf(toolCall)
const samplingKeys = keysOf(samplingParams)
const strategyKeys: Readonly<Record<keyof typeof strategies, Keys>> = {
  greedy: keysOf(strategies.greedy),
  top_p: keysOf(strategies.top_p),
  top_k: keysOf(strategies.top_k),
}
const formatKeys: Readonly<Record<keyof typeof responseFormats, Keys>> = {
  json_schema: keysOf(responseFormats.json_schema),
  grammar: keysOf(responseFormats.grammar),
}
const logprobsKeys = keysOf(logprobs)
const toolKeys = keysOf(tool)
const parameterKeys = keysOf(toolParameter)
const toolConfigKeys = keysOf(toolConfig)

type NestedWire = CommonWire &
  Partial<ToolWire> & {
    /** The conversations, each with its path, such as `messages` or `messages_batch[1]`. */
    readonly conversations?: readonly { readonly path: string; readonly messages: readonly WireMessage[] }[]
    /** Contents outside of messages, with the path of each, such as `content` or `contents[]`. */
    readonly contents?: { readonly path: string; readonly items: readonly WireContent[] }
  }

/**
 * The unknown fields inside the objects of a body, as paths without indices, each once. Throws `unsupported-field` for those that would
 * change the output.
 */
export function checkNested(wire: NestedWire): string[] {
  const nested = createNestedCheck(refused)
  const { check } = nested
  for (const { path, messages } of wire.conversations ?? []) {
    // Without the number of an item of a batch.
    const at = `${path.replace(/\d+/, '')}[]`
    for (const [index, message] of messages.entries()) checkMessage(nested, message, { path: at, index })
  }
  for (const item of wire.contents?.items ?? []) checkContent(nested, item, { path: wire.contents?.path ?? '', index: 0 })
  const { sampling_params: params, response_format: format } = wire
  check(params, samplingKeys, { path: 'sampling_params' })
  if (params?.strategy) check(params.strategy, strategyKeys[params.strategy.type], { path: 'sampling_params.strategy' })
  if (format) check(format, formatKeys[format.type], { path: 'response_format' })
  check(wire.logprobs, logprobsKeys, { path: 'logprobs' })
  check(wire.tool_config, toolConfigKeys, { path: 'tool_config' })
  for (const [index, definition] of (wire.tools ?? []).entries()) {
    check(definition, toolKeys, { path: 'tools[]', index })
    for (const parameter of Object.values(definition.parameters ?? {})) {
      check(parameter, parameterKeys, { path: 'tools[].parameters.*', index })
    }
  }
  return [...nested.ignored]
}

type At = { readonly path: string; readonly index: number }

function checkMessage(nested: NestedCheck, message: WireMessage, at: At): void {
  nested.check(message, messageKeys[message.role], at)
  checkContent(nested, message.content, { ...at, path: `${at.path}.content` })
  if (message.role === 'user') checkContent(nested, message.context, { ...at, path: `${at.path}.context` })
  if (message.role !== 'assistant') return
  for (const call of message.tool_calls ?? []) nested.check(call, toolCallKeys, { ...at, path: `${at.path}.tool_calls[]` })
}

function checkContent(nested: NestedCheck, content: WireContent | null | undefined, at: At): void {
  if (typeof content !== 'object' || content === null) return
  const path = Array.isArray(content) ? `${at.path}[]` : at.path
  for (const item of Array.isArray(content) ? content : [content]) {
    nested.check(item, itemKeys[item.type], { ...at, path })
    if (item.type !== 'image') continue
    nested.check(item.image, imageKeys, { ...at, path: `${path}.image` })
    nested.check(item.image.url, imageUrlKeys, { ...at, path: `${path}.image.url` })
  }
}
