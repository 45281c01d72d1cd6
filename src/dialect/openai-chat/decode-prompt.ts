import type { ChatPrompt, JsonObject, Message } from '../../contract/request.ts'
import { refuseLargeJson } from '../openai/large-json.ts'
import { decodeTemplate } from '../openai/prompt-template.ts'
import { pickSpelled, pickSpelling } from '../openai/spelling.ts'
import { invalid } from '../wire/invalid.ts'
import type { ChatWire } from './schema.ts'

/** Decodes the start of the answer and the template variables. */
export function decodePrompt(wire: ChatWire, messages: readonly Message[]): Omit<ChatPrompt, 'tools'> {
  const start = decodeStart(wire, messages)
  const responsePrefix = wire.response_prefix ?? ''
  if (responsePrefix !== '' && start === 'bare') {
    throw invalid(
      'response_prefix',
      'response_prefix requires a new answer, and add_generation_prompt false starts none: send one of them',
    )
  }
  return {
    type: 'chat',
    messages,
    templateVariables: decodeVariables(wire),
    start,
    responsePrefix,
    ...decodeTemplate(wire),
    ...(wire.auto_heal_tool_calls === false && { keepsCallTexts: true }),
  }
}

function decodeVariables(wire: ChatWire): JsonObject {
  const variables = pickSpelled(wire, ['template_vars', 'chat_template_kwargs'])
  if (variables !== undefined) {
    refuseLargeJson(variables.value, variables.name)
    const reserved = ['messages', 'tools', 'add_generation_prompt'].find((name) => Object.hasOwn(variables.value, name))
    if (reserved !== undefined) {
      const param = `${variables.name}.${reserved}`
      throw invalid(param, `${param} comes from the request's own ${reserved}: leave it out`)
    }
  }
  return { ...(typeof wire.verbosity === 'string' && { verbosity: wire.verbosity }), ...variables?.value }
}

/**
 * (1) With `prefix` or `partial` on the last message, `continue_final_message` or `continue_assistant_turn`, the model continues that message. (2) Without
 * a generation prompt it continues the end of the template. (3) Otherwise it answers in a new turn.
 */
function decodeStart(wire: ChatWire, messages: readonly Message[]): ChatPrompt['start'] {
  const flagged = findPrefixFlag(wire)
  const { continue_final_message: asked, continue_assistant_turn: ifAssistant, add_generation_prompt: adds } = wire
  const isTurnOpen = ifAssistant === true && messages.at(-1)?.role === 'assistant'
  const continues = asked ?? (isTurnOpen ? true : undefined)
  if (flagged === undefined && continues !== true) return adds === false ? 'bare' : 'new-turn'
  const param = flagged ?? (isTurnOpen && asked !== true ? 'continue_assistant_turn' : 'continue_final_message')
  if (flagged !== undefined && continues === false) {
    throw invalid(param, `${param} true contradicts continue_final_message false: send one of them`)
  }
  if (adds === true) {
    throw invalid(param, `${param} true continues a message, and add_generation_prompt true starts a new one: send one of them`)
  }
  const last = messages.at(-1)
  if (last?.role !== 'assistant') {
    throw invalid(param, `${param} true requires an assistant message at the end, got the role '${last?.role}'`)
  }
  const end = last.parts.findLast((part) => part.type !== 'text' || part.text !== '')
  if ((end?.type !== 'text' && end?.type !== 'reasoning') || end.text === '') {
    throw invalid(param, `${param} true requires a last message that ends in text, or has only reasoning`)
  }
  return 'last-message'
}

/** The path of a true `prefix` or `partial` in the last message. Throws for one in another message. */
function findPrefixFlag({ messages }: ChatWire): string | undefined {
  let path: string | undefined
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'assistant' || (message.prefix === undefined && message.partial === undefined)) continue
    if (pickSpelling(message, ['prefix', 'partial'], `messages[${index}].`) !== true) continue
    path = `messages[${index}].${message.prefix === true ? 'prefix' : 'partial'}`
    if (index < messages.length - 1) throw invalid(path, `${path} true is only allowed on the last message`)
  }
  return path
}
