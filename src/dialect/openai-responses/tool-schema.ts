import { z } from 'zod'
import { toolParameters } from '../openai/tool-parameters.ts'
import { list, looseObject, openObject } from '../wire/first-fault.ts'
import { flag, nonEmptyText, text, typeOtherThan } from '../wire/wire-types.ts'
import { codeTool, mcpTool } from './server-tools/tool-schema.ts'

const toolName = z.string().regex(/^[a-zA-Z0-9_.-]{1,128}$/, {
  error: "a name of 1 to 128 letters, digits, '_', '-' and '.'",
})

const functionTool = looseObject({
  type: z.literal('function'),
  name: toolName,
  description: text,
  parameters: toolParameters.nullish(),
  strict: flag,
})
const textFormat = looseObject({ type: z.literal('text') })
const grammarFormat = looseObject({
  type: z.literal('grammar'),
  syntax: z.enum(['lark', 'regex']),
  definition: z.string(),
})
const customTool = looseObject({
  type: z.literal('custom'),
  name: toolName,
  description: text,
  format: z.discriminatedUnion('type', [textFormat, grammarFormat]).nullish(),
})
const memberTool = z.discriminatedUnion('type', [functionTool, customTool])
const namespaceTool = looseObject({
  type: z.literal('namespace'),
  name: toolName,
  description: text,
  tools: list(memberTool, { error: 'an array of functions and custom tools' }),
})
/** A search for tools that the client runs; the model calls it like a function. */
const searchTool = openObject({
  type: z.literal('tool_search'),
  execution: z.literal('client'),
  description: text,
  parameters: toolParameters.nullish(),
})
const knownTypes = new Set(['function', 'custom', 'namespace'])
const typedTool = z.discriminatedUnion('type', [functionTool, customTool, namespaceTool, codeTool, mcpTool])
const typedTypes = new Set([...knownTypes, 'code_interpreter', 'mcp'])
/** Tools that OpenAI's servers run or define, such as `web_search`, and tools newer than this code. */
const otherTool = openObject({ type: typeOtherThan((type) => typedTypes.has(type)) })
export const tool = z.union([typedTool, searchTool, otherTool])

/**
 * Tools that a caller declares to rely on them: refused if the server lacks them. Agents declare others, such as `web_search` and
 * `image_generation`, by habit beside their own.
 */
export const refusedTools: ReadonlySet<string> = new Set([
  'apply_patch',
  'code_interpreter',
  'computer',
  'computer_use',
  'computer_use_preview',
  'file_search',
  'local_shell',
  'mcp',
  'programmatic_tool_calling',
  'shell',
])

export type MemberTool = z.output<typeof memberTool>
type KnownTool = z.output<typeof functionTool | typeof customTool | typeof namespaceTool>
type SearchTool = z.output<typeof searchTool>
export type WireTool = z.output<typeof tool>

export function isKnownTool(wire: WireTool): wire is KnownTool {
  return knownTypes.has(wire.type)
}

/** Whether the client runs this search; searches of OpenAI's servers are not supported here. */
export function isSearchTool(wire: WireTool): wire is SearchTool {
  return wire.type === 'tool_search' && wire.execution === 'client'
}

const namedTool = looseObject({ type: z.string(), name: text, namespace: text, server_label: text })
const namedChoice = looseObject({
  type: z.enum(['function', 'custom']),
  name: nonEmptyText.nullish(),
  namespace: text,
  /** As in chat completions; clients of other gateways send it here, too. */
  function: looseObject({ name: nonEmptyText }).nullish(),
})
const allowedChoice = looseObject({
  type: z.literal('allowed_tools'),
  mode: z.enum(['auto', 'required']),
  tools: list(namedTool).min(1, { error: 'at least one tool' }),
})
const knownChoices = new Set(['function', 'custom', 'allowed_tools'])
/** A call of a tool that OpenAI's servers run. */
const otherChoice = openObject({ type: typeOtherThan((type) => knownChoices.has(type)) })
const knownChoice = z.discriminatedUnion('type', [namedChoice, allowedChoice])
export const toolChoice = z.union([z.enum(['auto', 'none', 'required']), knownChoice, otherChoice])

type ToolChoiceWire = z.output<typeof toolChoice>

export function isKnownChoice(choice: Exclude<ToolChoiceWire, string>): choice is z.output<typeof knownChoice> {
  return knownChoices.has(choice.type)
}
