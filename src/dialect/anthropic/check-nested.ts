import { createNestedCheck, type Keys, keysOf } from '../wire/nested-check.ts'
import {
  assistantMessage,
  type CountWire,
  compactionBlock,
  documentBlock,
  imageBlock,
  metadata,
  outputConfig,
  outputFormat,
  redactedBlock,
  searchResultBlock,
  systemMessage,
  textBlock,
  thinking,
  thinkingBlock,
  tool,
  toolChoice,
  toolReferenceBlock,
  toolResultBlock,
  toolUseBlock,
  userMessage,
  type WireMessage,
} from './schema.ts'

/** Accepted everywhere: equal prefixes are reused without it, and `citations` and `caller` come back from replies. */
const everywhere = ['cache_control', 'citations', 'caller', 'toolset_name', 'annotations']

const messageKeys: Readonly<Record<WireMessage['role'], Keys>> = {
  user: keysOf(userMessage),
  assistant: keysOf(assistantMessage),
  system: keysOf(systemMessage),
}
const blockKeys: Readonly<Record<string, Keys>> = {
  text: withCommon(textBlock),
  image: withCommon(imageBlock),
  document: withCommon(documentBlock),
  search_result: withCommon(searchResultBlock),
  tool_result: withCommon(toolResultBlock),
  thinking: withCommon(thinkingBlock),
  redacted_thinking: withCommon(redactedBlock),
  tool_use: withCommon(toolUseBlock),
  server_tool_use: withCommon(toolUseBlock),
  mcp_tool_use: withCommon(toolUseBlock).add('server_name'),
  compaction: withCommon(compactionBlock),
  tool_reference: withCommon(toolReferenceBlock),
}
const toolKeys = new Set([...withCommon(tool), 'eager_input_streaming', 'input_examples', 'allowed_callers'])
const choiceKeys = keysOf(toolChoice)
const thinkingKeys = keysOf(thinking)
const outputConfigKeys = keysOf(outputConfig)
const outputFormatKeys = keysOf(outputFormat)
const metadataKeys = keysOf(metadata)

/** The unknown fields inside the objects of a body, as paths without indices, each once. */
export function checkNested(wire: CountWire & { readonly metadata?: object | null | undefined }): string[] {
  const { check, ignored } = createNestedCheck(new Map())
  const checkBlock = (block: { readonly type: string }, at: { path: string; index: number }) => {
    const keys = blockKeys[block.type]
    // Other blocks are ignored as a whole.
    if (keys !== undefined) check(block, keys, at)
  }
  for (const [index, message] of wire.messages.entries()) {
    check(message, messageKeys[message.role], { path: 'messages[]', index })
    if (!Array.isArray(message.content)) continue
    for (const block of message.content) {
      checkBlock(block, { path: 'messages[].content[]', index })
      if (block.type !== 'tool_result' || !Array.isArray(block.content)) continue
      for (const item of block.content) checkBlock(item, { path: 'messages[].content[].content[]', index })
    }
  }
  if (Array.isArray(wire.system)) {
    for (const [index, block] of wire.system.entries()) checkBlock(block, { path: 'system[]', index })
  }
  for (const [index, item] of (wire.tools ?? []).entries()) {
    // The settings of Anthropic's own tools are ignored with them.
    if (typeof item.type !== 'string' || item.type === 'custom') check(item, toolKeys, { path: 'tools[]', index })
  }
  check(wire.tool_choice, choiceKeys, { path: 'tool_choice' })
  check(wire.thinking, thinkingKeys, { path: 'thinking' })
  check(wire.output_config, outputConfigKeys, { path: 'output_config' })
  check(wire.output_config?.format, outputFormatKeys, { path: 'output_config.format' })
  check(wire.metadata, metadataKeys, { path: 'metadata' })
  return [...ignored]
}

function withCommon(schema: { readonly shape: object }): Set<string> {
  return new Set([...keysOf(schema), ...everywhere])
}
