import { AppError } from '../../contract/errors.ts'
import type { JsonObject, Message, Prompt } from '../../contract/request.ts'
import { refuseDeepJson } from '../openai/json-depth.ts'
import { pickSpelled, pickSpelling } from '../openai/spelling.ts'
import { decodeMessages } from './decode-messages.ts'
import type { WireRequest } from './schema.ts'

type ChatPrompt = Extract<Prompt, { type: 'chat' }>

/** The conversation, where the answer begins, and what the template is told besides. */
export function decodePrompt(wire: WireRequest): Omit<ChatPrompt, 'tools'> {
  const messages = decodeMessages(wire.messages)
  const start = decodeStart(wire, messages)
  const responsePrefix = wire.response_prefix ?? ''
  if (responsePrefix !== '' && start === 'bare') {
    throw invalid('response_prefix', 'response_prefix needs an answer that it begins: leave add_generation_prompt out')
  }
  return { type: 'chat', messages, templateVariables: decodeVariables(wire), start, responsePrefix }
}

function decodeVariables(wire: WireRequest): JsonObject {
  const variables = pickSpelled(wire, ['template_vars', 'chat_template_kwargs'])
  if (variables !== undefined) {
    refuseDeepJson(variables.value, variables.name)
    const reserved = ['messages', 'tools', 'add_generation_prompt'].find((name) => Object.hasOwn(variables.value, name))
    if (reserved !== undefined) {
      const param = `${variables.name}.${reserved}`
      throw invalid(param, `${param} is made from the request's own ${reserved}: leave it out`)
    }
  }
  return { ...(typeof wire.verbosity === 'string' && { verbosity: wire.verbosity }), ...variables?.value }
}

/**
 * (1) A last message marked `prefix` or `partial` is continued, and so it is with `continue_final_message`. (2) Without a
 * generation prompt the model goes on wherever the template ended. (3) Otherwise it answers in a turn of its own.
 */
function decodeStart(wire: WireRequest, messages: readonly Message[]): ChatPrompt['start'] {
  const marked = findMarked(wire)
  const { continue_final_message: continues, add_generation_prompt: adds } = wire
  if (marked === undefined && continues !== true) return adds === false ? 'bare' : 'new-turn'
  const param = marked ?? 'continue_final_message'
  if (marked !== undefined && continues === false) {
    throw invalid(param, `${param} true contradicts continue_final_message false: send one of them`)
  }
  if (adds === true) {
    throw invalid(param, `${param} true continues a message, and add_generation_prompt true begins one: send one of them`)
  }
  const last = messages.at(-1)
  if (last?.role !== 'assistant') {
    throw invalid(param, `${param} true needs an assistant message at the end to continue, got the role '${last?.role}'`)
  }
  const end = last.parts.at(-1)
  if (end?.type !== 'text' || end.text === '') {
    throw invalid(param, `${param} true needs a last message that ends in text to continue, and this one does not`)
  }
  return 'last-message'
}

/** The path of the mark on the last message. Throws for a mark on another one. */
function findMarked({ messages }: WireRequest): string | undefined {
  let marked: string | undefined
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'assistant' || (message.prefix === undefined && message.partial === undefined)) continue
    if (pickSpelling(message, ['prefix', 'partial'], `messages[${index}].`) !== true) continue
    marked = `messages[${index}].${message.prefix === true ? 'prefix' : 'partial'}`
    if (index < messages.length - 1) throw invalid(marked, `${marked} true is only allowed on the last message`)
  }
  return marked
}

function invalid(param: string, message: string): AppError {
  return new AppError('invalid-request', message, { param })
}
