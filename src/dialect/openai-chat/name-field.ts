import type { CanonicalPath } from '../../contract/field.ts'
import { commonNames, nameOutput } from '../openai/field-names.ts'
import { type FieldNames, formatRest, nameField } from '../wire/field-names.ts'
import { nameInPart } from '../wire/media-part.ts'
import { mediaBeside } from './media-beside.ts'
import type { WireMessage } from './message-schema.ts'
import type { ChatWire } from './schema.ts'

const chatNames: FieldNames = {
  ...commonNames,
  prompt: ['messages'],
  'prompt.messages': ['messages'],
  'prompt.tools': ['tools', 'functions'],
  'prompt.templateVariables': ['template_vars', 'chat_template_kwargs'],
  'prompt.templateVariables.verbosity': ['verbosity'],
  'prompt.start': ['continue_final_message', 'add_generation_prompt'],
  'prompt.responsePrefix': ['response_prefix'],
  toolChoice: ['tool_choice', 'function_call'],
  parallelToolCalls: ['parallel_tool_calls'],
  'reasoning.enabled': ['enable_thinking', 'thinking', 'reasoning'],
  'reasoning.effort': ['reasoning_effort', 'reasoning'],
  'reasoning.budgetTokens': [
    'reasoning_budget_tokens',
    'reasoning_budget',
    'thinking_budget',
    'thinking_token_budget',
    'thinking',
    'reasoning',
  ],
  'reasoning.preserve': ['preserve_thinking'],
}

/** The client's name for a path of a chat request. `outputField` is the field that the output constraint came from. */
export function nameChatField(wire: ChatWire, outputField: string, path: CanonicalPath): string {
  const [root, second, index, list, position, ...rest] = path
  if (root === 'output') return nameOutput(outputField, path)
  if (root === 'prompt' && second === 'messages' && typeof index === 'number') {
    const message = wire.messages[index]
    const beside = typeof position === 'number' ? nameBeside(wire, message, position) : undefined
    if (beside !== undefined) return beside
    if (message !== undefined && typeof position === 'number') {
      const part = namePart(message, { index, position, list })
      return part + nameInPart(wire, part, rest)
    }
  }
  if (root === 'prompt' && second === 'tools' && typeof index === 'number') {
    const tool = wire.tools?.[index]
    if (tool?.type === 'custom') return nameInCustom(`tools[${index}].custom`, path.slice(3))
    const base = tool === undefined ? `functions[${index}]` : `tools[${index}].function`
    return base + formatRest(path.slice(3))
  }
  return nameField(chatNames, wire, path)
}

function nameInCustom(base: string, path: CanonicalPath): string {
  return path[0] === 'grammar' ? `${base}.format${formatRest(path)}` : base + formatRest(path)
}

/** The name of media that stand beside the messages, and follow the content of the last message of the user. */
function nameBeside(wire: ChatWire, message: WireMessage | undefined, position: number): string | undefined {
  if (message !== undefined && message.role !== 'user') return undefined
  return mediaBeside(wire)[position - (message === undefined ? 0 : lengthOf(message))]?.field
}

function lengthOf({ content }: WireMessage): number {
  return Array.isArray(content) ? content.length : typeof content === 'string' ? 1 : 0
}

type PartPosition = { readonly index: number; readonly position: number; readonly list: unknown }

/** Relies on the order of the canonical parts that `decode-messages.ts` makes. */
function namePart(message: WireMessage, { index, position, list }: PartPosition): string {
  const at = `messages[${index}]`
  const { content } = message
  const contentLength = lengthOf(message)
  const inContent = (offset: number) => (Array.isArray(content) ? `${at}.content[${offset}]` : `${at}.content`)
  if (message.role !== 'assistant' || list !== 'parts') return inContent(position)
  const reasoning = (message.reasoning_content ?? undefined) !== undefined ? 'reasoning_content' : 'reasoning'
  const hasReasoning = (message[reasoning] ?? undefined) !== undefined
  if (hasReasoning && position === 0) return `${at}.${reasoning}`
  const inMessage = position - (hasReasoning ? 1 : 0)
  if (inMessage < contentLength) return inContent(inMessage)
  const hasRefusal = (message.refusal ?? '') !== ''
  if (hasRefusal && inMessage === contentLength) return `${at}.refusal`
  const call = inMessage - contentLength - (hasRefusal ? 1 : 0)
  return call < (message.tool_calls?.length ?? 0) ? `${at}.tool_calls[${call}]` : `${at}.function_call`
}
