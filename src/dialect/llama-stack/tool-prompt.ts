import type { ContentPart, FunctionTool, Message, OutputPart, ToolChoice } from '../../contract/request.ts'
import type { DecodedMessages, MessagePaths } from '../wire/message-paths.ts'
import type { DecodedTools } from './decode-tools.ts'
import type { PromptFormat } from './schema.ts'
import { writeCalls } from './write-calls.ts'

/** A conversation that presents the tools itself, if the request asks for that. */
type ToolPrompt = DecodedMessages & {
  /** The name of the format (`model-text/formats`) in which calls are written; absent: the model's own. */
  readonly toolFormat?: string
}

/** The formats of `model-text/formats` that read calls of these. */
const toolFormats: Readonly<Record<PromptFormat, string>> = {
  json: 'llama3',
  function_tag: 'functionary-v3.1',
  python_list: 'pythonic',
}
/** The format of models whose system message contains the placeholder for definitions. */
const replacedFormat: PromptFormat = 'python_list'

const placeholder = '{{function_definitions}}'

/**
 * Writes the tools into the system message and earlier calls as text, in the requested format. Without a format the chat template does
 * both, in the model's own.
 */
export function writeToolPrompt(conversation: DecodedMessages, tools: DecodedTools): ToolPrompt {
  const { replacesSystem } = tools
  const format = tools.format ?? (replacesSystem ? replacedFormat : undefined)
  if (format === undefined) return conversation
  const written = { ...conversation, messages: conversation.messages.map((message) => withCallsAsText(message, format)) }
  const shown = tools.toolChoice.type === 'none' ? [] : tools.tools
  const declared = replacesSystem ? fillPlaceholder(written, shown) : declare(written, shown, { format, ...tools })
  return { ...declared, toolFormat: toolFormats[format] }
}

function withCallsAsText(message: Message, format: PromptFormat): Message {
  if (message.role !== 'assistant') return message
  const calls = message.parts.filter((part) => part.type === 'tool-call')
  if (calls.length === 0) return message
  const others: readonly OutputPart[] = message.parts.filter((part) => part.type !== 'tool-call')
  return { ...message, parts: [...others, { type: 'text', text: writeCalls(calls, format) }] }
}

/** Replaces the placeholder in any system message by the definitions. */
function fillPlaceholder({ messages, paths }: DecodedMessages, tools: readonly FunctionTool[]): DecodedMessages {
  const text = tools.map(describe).join('\n')
  const fill = (part: ContentPart): ContentPart =>
    part.type === 'text' ? { ...part, text: part.text.replaceAll(placeholder, () => text) } : part
  return {
    messages: messages.map((message) =>
      message.role === 'system' ? { ...message, content: message.content.map(fill) } : message,
    ),
    paths,
  }
}

type Declaration = { readonly format: PromptFormat; readonly toolChoice: ToolChoice }

/** Puts the definitions and instructions before the text of the first system message, which exists by then. */
function declare(
  { messages, paths }: DecodedMessages,
  tools: readonly FunctionTool[],
  { format, toolChoice }: Declaration,
): DecodedMessages {
  if (tools.length === 0) return { messages, paths }
  const [first, ...rest] = messages
  const [firstPaths, ...restPaths] = paths
  const text = instructions(tools, { format, toolChoice })
  if (first?.role !== 'system' || firstPaths === undefined) {
    const added: MessagePaths = { message: 'tools', parts: ['tools'] }
    return { messages: [{ role: 'system', content: [{ type: 'text', text }] }, ...messages], paths: [added, ...paths] }
  }
  return {
    messages: [{ ...first, content: [{ type: 'text', text: `${text}\n\n` }, ...first.content] }, ...rest],
    paths: [{ ...firstPaths, parts: ['tools', ...firstPaths.parts] }, ...restPaths],
  }
}

function instructions(tools: readonly FunctionTool[], { format, toolChoice }: Declaration): string {
  return [
    'You can call these functions. Each line describes one, with its parameters as JSON Schema:',
    ...tools.map(describe),
    '',
    'To call functions, write only the calls, exactly in this form:',
    examples[format],
    'When no function is of use, just answer.',
    ...(toolChoice.type === 'required' ? [requirement(toolChoice.names)] : []),
  ].join('\n')
}

const example = { name: 'NAME', input: '{"ARGUMENT": "VALUE"}' }
const examples: Readonly<Record<PromptFormat, string>> = {
  json: writeCalls([example], 'json'),
  function_tag: writeCalls([example], 'function_tag'),
  python_list: writeCalls([example, example], 'python_list'),
}

function requirement(names: readonly string[] | undefined): string {
  return names === undefined ? 'Now you must call a function.' : `Now you must call ${names.join(' or ')}.`
}

function describe({ name, description, parameters }: FunctionTool): string {
  return JSON.stringify({
    name,
    ...(description !== undefined && { description }),
    ...(parameters !== undefined && { parameters }),
  })
}
