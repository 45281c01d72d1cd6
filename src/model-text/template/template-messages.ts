import { createHash } from 'node:crypto'
import { isObject, parseJson } from '../../base/json.ts'
import type { ContentPart, FunctionTool, JsonObject } from '../../contract/request.ts'
import { ForeignJson } from '../../jinja/texts/from-json.ts'
import { asForeign } from '../../jinja/values/foreign-text.ts'
import type { CallTraits } from './call-traits.ts'
import type { TemplateTurn } from './turn.ts'

/** A message in the form that chat templates expect: OpenAI's, with tool arguments as data. */
export type TemplateMessage = { readonly role: string; readonly content: string | readonly unknown[] } & {
  readonly [key: string]: unknown
}

/** The differences between templates in the form of a message. */
export type Spelling = Pick<CallTraits, 'objectArguments' | 'anyArguments' | 'nineCharacterIds'> & {
  /** Content must be a list of parts; a plain string is not rendered. */
  readonly typedContent: boolean
  /** What requires a description, even an empty one: nothing, tools, or tools and their parameters. */
  readonly descriptions: 'optional' | 'tools' | 'parameters'
  /** The field that contains the reasoning of an earlier turn; undefined if the template never prints it. */
  readonly reasoningField: ReasoningField | 'content' | undefined
}

/** The fields that templates read an earlier turn's reasoning from. */
export const reasoningFields = ['reasoning_content', 'reasoning', 'thinking'] as const
export type ReasoningField = (typeof reasoningFields)[number]

/** The part of a message's content that holds its reasoning, for templates that read it there (Ministral 3). */
export function thinkingPart(text: string): JsonObject {
  return { type: 'thinking', thinking: text }
}

/** Encodes turns, whose texts are foreign, in the form that this template expects. Other names from a caller become foreign. */
export function encodeMessages(messages: readonly TemplateTurn[], spelling: Spelling): TemplateMessage[] {
  return messages.map((message) => encodeMessage(message, spelling))
}

function encodeMessage(given: TemplateTurn, spelling: Spelling): TemplateMessage {
  const { typedContent, reasoningField = 'reasoning_content' } = spelling
  const message = spellIds(given, spelling)
  const { name } = message
  const text = joinText(message.content)
  const reasoning = message.role === 'assistant' ? message.reasoning : undefined
  const thinking = reasoningField === 'content' && reasoning ? [thinkingPart(reasoning)] : []
  const parts = thinking.length > 0 && text === '' ? [] : [{ type: 'text', text }]
  const base = {
    role: message.role,
    content: typedContent || thinking.length > 0 ? [...thinking, ...parts] : text,
    ...(name !== undefined && { name: asForeign(name) }),
  }
  switch (message.role) {
    case 'assistant':
      return {
        ...base,
        ...(reasoning !== undefined && reasoningField !== 'content' && { [reasoningField]: reasoning }),
        ...(message.toolCalls.length > 0 && {
          tool_calls: message.toolCalls.map(({ id, name: called, input: json }) => ({
            id: asForeign(id),
            type: 'function',
            function: { name: asForeign(called), arguments: spellArguments(json, spelling) },
          })),
        }),
      }
    case 'tool':
      return { ...base, tool_call_id: asForeign(message.toolCallId) }
    case 'system':
    case 'developer':
    case 'user':
      return base
  }
}

/** The turn with ids of calls in the template's form. */
export function spellIds(turn: TemplateTurn, { nineCharacterIds }: Pick<Spelling, 'nineCharacterIds'>): TemplateTurn {
  if (!nineCharacterIds) return turn
  if (turn.role === 'tool') return { ...turn, toolCallId: nineCharacterId(turn.toolCallId) }
  if (turn.role !== 'assistant') return turn
  return { ...turn, toolCalls: turn.toolCalls.map((call) => ({ ...call, id: nineCharacterId(call.id) })) }
}

/** Tools as the list of function specifications that templates print. */
export function encodeTools(tools: readonly FunctionTool[], spelling: Pick<Spelling, 'descriptions'>): unknown[] {
  return tools.map((tool) => {
    const { name, description, parameters = noParameters } = describeTool(tool, spelling)
    return { type: 'function', function: { name, ...(description !== undefined && { description }), parameters } }
  })
}

const noParameters: JsonObject = { type: 'object', properties: {} }

/** The tool with empty descriptions where it has none: some templates print that of every tool, or of every parameter, and fail without. */
export function describeTool(tool: FunctionTool, { descriptions }: Pick<Spelling, 'descriptions'>): FunctionTool {
  if (descriptions === 'optional') return tool
  const { description = '', parameters } = tool
  const isDeep = descriptions === 'parameters' && parameters !== undefined
  return { ...tool, description, ...(isDeep && { parameters: describeParameters(parameters) }) }
}

function describeParameters(parameters: JsonObject): JsonObject {
  const { properties } = parameters
  if (!isObject(properties)) return parameters
  const described = Object.entries(properties).map(([key, schema]) => [
    key,
    isObject(schema) ? { description: '', ...schema } : schema,
  ])
  return { ...parameters, properties: Object.fromEntries(described) }
}

/** Joins text parts with line breaks, like vLLM and llama.cpp; engines refuse unsupported parts. */
export function joinText(content: readonly ContentPart[]): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

/** Generated arguments may be invalid JSON, or not an object: if a template requires an object, the text is wrapped in one. */
function spellArguments(text: string, { objectArguments, anyArguments }: Spelling): unknown {
  const data = objectArguments ? parseJson(text) : undefined
  if (data !== undefined && (isObject(data) || anyArguments)) return new ForeignJson(text)
  return objectArguments && !anyArguments ? { input: asForeign(text) } : asForeign(text)
}

/**
 * A call's id as templates of Mistral require it, nine letters and digits. An id of that form is kept. Others are hashed, so that
 * a call and its result still have the same id.
 */
function nineCharacterId(id: string): string {
  if (/^[a-zA-Z0-9]{9}$/.test(id)) return id
  return createHash('sha256')
    .update(id)
    .digest('base64')
    .replace(/[^a-zA-Z0-9]/g, '')
    .slice(0, 9)
}
