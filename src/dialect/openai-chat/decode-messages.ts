import { AppError } from '../../contract/errors.ts'
import type { Annotation, ContentPart, Message, OutputPart, ToolCallPart } from '../../contract/request.ts'
import { refuseLargeJson } from '../openai/large-json.ts'
import { pickSpelling } from '../openai/spelling.ts'
import { withoutBillingLine } from '../wire/billing-line.ts'
import { CallIds } from '../wire/call-ids.ts'
import { callInput } from '../wire/call-input.ts'
import { JsonScanner } from '../wire/json-scanner.ts'
import { preview } from '../wire/preview.ts'
import { decodeMedia } from './decode-media.ts'
import type { WireMessage, WirePart } from './message-schema.ts'

const maxUncountedChars = 64 * 1024

type WireAssistant = Extract<WireMessage, { role: 'assistant' }>
type WireFunctionCall = NonNullable<WireAssistant['function_call']>

/**
 * Decodes a conversation. The deprecated function messages become tool calls and results; calls and results without an id get one.
 * Throws for calls and ids in messages of a role that has none.
 */
export function decodeMessages(wire: readonly WireMessage[]): Message[] {
  const ids = new CallIds()
  return wire.map((message, index) => decodeMessage(message, index, ids))
}

function decodeMessage(message: WireMessage, index: number, ids: CallIds): Message {
  refuseMisplaced(message, index)
  const name = typeof message.name === 'string' ? { name: message.name } : undefined
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: message.role, content: withoutBilling(decodeSystem(message.content, index)), ...name }
    case 'user':
      ids.endTurn()
      return { role: message.role, content: decodeContent(message.content, index), ...name }
    case 'assistant':
      return { ...decodeAssistant(message, index, ids), ...name }
    case 'tool':
    case 'function': {
      const id = message.role === 'tool' ? message.tool_call_id : undefined
      const toolCallId = ids.ofResult({ id, name: message.name }, `call_of_result_${index}`)
      return { role: 'tool', content: decodeContent(message.content, index), toolCallId, ...name }
    }
  }
}

/** Fields of another role: what they say would be lost, and the role is probably wrong. */
function refuseMisplaced(message: WireMessage, index: number): void {
  const { role, tool_calls: calls, tool_call_id: id }: MaybeMisplaced = message
  if (role !== 'assistant' && Array.isArray(calls) && calls.length > 0) {
    throw misplaced(`messages[${index}].tool_calls`, { role, allowed: 'assistant' })
  }
  if (role !== 'tool' && typeof id === 'string' && id !== '') {
    throw misplaced(`messages[${index}].tool_call_id`, { role, allowed: 'tool' })
  }
}

type MaybeMisplaced = { readonly role: string; readonly tool_calls?: unknown; readonly tool_call_id?: unknown }

function misplaced(param: string, { role, allowed }: { readonly role: string; readonly allowed: string }): AppError {
  const message = `${param} is only allowed in a message of role "${allowed}", and this one's is "${role}": change the role, or leave it out`
  return new AppError('invalid-request', message, { param })
}

/** OpenAI's system messages have text only, and templates print nothing else there. */
function decodeSystem(content: WireMessage['content'], index: number): ContentPart[] {
  const parts = decodeContent(content, index)
  const position = parts.findIndex(({ type }) => type !== 'text')
  if (position === -1) return parts
  throw unsupported(`messages[${index}].content[${position}]`, 'system messages have text only; send it in a user message')
}

/** Gateways pass it on from Claude Code. The parts keep their positions, by which errors name them. */
function withoutBilling(content: readonly ContentPart[]): readonly ContentPart[] {
  return content.map((part) => (part.type === 'text' ? { ...part, text: withoutBillingLine(part.text) } : part))
}

/** What is left out of system messages, as an unknown field is listed. */
export function listBilling(wire: readonly WireMessage[]): readonly string[] {
  const hasBilling = wire.some(({ role, content }) => {
    if (role !== 'system' && role !== 'developer') return false
    const texts = typeof content === 'string' ? [content] : (content ?? []).map((part) => (part.type === 'text' ? part.text : ''))
    return texts.some((text) => withoutBillingLine(text) !== text)
  })
  return hasBilling ? ['messages[].content'] : []
}

function decodeAssistant(message: WireAssistant, index: number, ids: CallIds): Extract<Message, { role: 'assistant' }> {
  if (message.audio !== undefined && message.audio !== null) {
    throw unsupported(`messages[${index}].audio`, 'earlier audio replies are not stored')
  }
  const reasoning = decodeReasoningText(message, index)
  const content = annotate(decodeParts(message.content, index), message.annotations)
  const refusal = message.refusal ?? ''
  return {
    role: 'assistant',
    parts: [
      ...(reasoning === undefined ? [] : [{ type: 'reasoning', text: reasoning } as const]),
      ...content,
      ...(refusal === '' ? [] : [{ type: 'refusal', text: refusal } as const]),
      ...decodeCalls(message, index, ids),
    ],
  }
}

/** OpenAI's annotations refer to the complete message: their indices count from the start of its text. */
function annotate(parts: readonly OutputPart[], wire: WireAssistant['annotations']): readonly OutputPart[] {
  const annotations = (wire ?? []).flatMap(({ url_citation: citation }): Annotation[] => {
    if (!citation) return []
    const { url, title, start_index: startIndex, end_index: endIndex } = citation
    return [
      {
        type: 'url-citation',
        url,
        ...(typeof title === 'string' && { title }),
        ...(typeof startIndex === 'number' && { startIndex }),
        ...(typeof endIndex === 'number' && { endIndex }),
      },
    ]
  })
  const first = parts.findIndex((part) => part.type === 'text')
  if (annotations.length === 0 || first === -1) return parts
  return parts.map((part, index) => (index === first && part.type === 'text' ? { ...part, annotations } : part))
}

function decodeReasoningText(message: WireAssistant, index: number): string | undefined {
  if (message.reasoning_content === undefined && message.reasoning === undefined) return undefined
  return pickSpelling(message, ['reasoning_content', 'reasoning'], `messages[${index}].`)
}

function decodeCalls({ tool_calls, function_call }: WireAssistant, index: number, ids: CallIds): ToolCallPart[] {
  const calls = (tool_calls ?? []).map((call, position) => {
    const callPath = `messages[${index}].tool_calls[${position}]`
    const idOf = (name: string) => ids.ofCall({ id: call.id, name }, `call_${index}_${position}`)
    if (call.type === 'custom') {
      const { name, input } = call.custom ?? missing(`${callPath}.custom`)
      return { type: 'tool-call', id: idOf(name), name, input, kind: 'custom' } as const
    }
    if (typeof call.type === 'string' && call.type !== 'function') {
      throw unsupported(`${callPath}.type`, `expected "function" or "custom", got ${preview(call.type)}`)
    }
    const called = call.function ?? missing(`${callPath}.function`)
    return decodeCall(idOf(called.name), called, `${callPath}.function`)
  })
  if (!function_call) return calls
  const id = ids.ofCall({ name: function_call.name }, `call_function_${index}`)
  return [...calls, decodeCall(id, function_call, `messages[${index}].function_call`)]
}

function missing(param: string): never {
  throw new AppError('invalid-request', `${param} is missing: expected an object`, { param })
}

function decodeCall(id: string, call: WireFunctionCall, path: string): ToolCallPart {
  return {
    type: 'tool-call',
    id,
    name: call.name,
    input: inputOf(call.arguments, `${path}.arguments`),
  }
}

function inputOf(given: WireFunctionCall['arguments'], path: string): string {
  if (typeof given === 'string') requireSmall(given, path)
  else refuseLargeJson(given, path)
  return callInput(given)
}

/** Templates parse arguments: what would take long as part of the body takes long as text too. */
function requireSmall(text: string, param: string): void {
  if (text.length <= maxUncountedChars) return
  try {
    new JsonScanner(param).push(Buffer.from(text))
  } catch (error) {
    throw new AppError('invalid-request', AppError.from(error).message, { param, cause: error })
  }
}

function decodeContent(content: string | readonly WirePart[] | null | undefined, index: number): ContentPart[] {
  return decodeParts(content, index).map((part) => (part.type === 'refusal' ? { type: 'text', text: part.text } : part))
}

type DecodedPart = ContentPart | Extract<OutputPart, { type: 'refusal' }>

function decodeParts(content: string | readonly WirePart[] | null | undefined, index: number): DecodedPart[] {
  if (content === undefined || content === null) return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return content.map((part, position) => decodePart(part, `messages[${index}].content[${position}]`))
}

function decodePart(part: WirePart, path: string): DecodedPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text }
    case 'refusal':
      return { type: 'refusal', text: part.refusal }
    case 'image_url':
    case 'input_audio':
    case 'audio_url':
    case 'video_url':
    case 'file':
      return decodeMedia(part, path)
  }
}

function unsupported(param: string, reason: string): AppError {
  return new AppError('unsupported-field', `${param} is not supported: ${reason}`, { param })
}
