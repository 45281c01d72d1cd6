import { AppError } from '../../contract/errors.ts'
import type { Annotation, ContentPart, Message, OutputPart, ToolCallPart } from '../../contract/request.ts'
import { refuseLargeJson } from '../openai/large-json.ts'
import { pickSpelling } from '../openai/spelling.ts'
import { refuseBadBase64 } from '../wire/base64.ts'
import { withoutBillingLine } from '../wire/billing-line.ts'
import { decodeDataUrl } from '../wire/data-url.ts'
import { JsonScanner } from '../wire/json-scanner.ts'
import { preview } from '../wire/preview.ts'
import type { WireMessage, WirePart } from './message-schema.ts'

const maxUncountedChars = 64 * 1024

type WireAssistant = Extract<WireMessage, { role: 'assistant' }>
type WireFunctionCall = NonNullable<WireAssistant['function_call']>

/** Decodes a conversation. The deprecated function messages become tool calls and results with generated ids. */
export function decodeMessages(wire: readonly WireMessage[]): Message[] {
  const functionCallIds = new Map<string, string>()
  return wire.map((message, index) => {
    if (message.role === 'assistant' && message.function_call) {
      functionCallIds.set(message.function_call.name, functionCallId(index))
    }
    return decodeMessage(message, index, functionCallIds)
  })
}

function decodeMessage(message: WireMessage, index: number, functionCallIds: ReadonlyMap<string, string>): Message {
  const name = typeof message.name === 'string' ? { name: message.name } : undefined
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: message.role, content: withoutBilling(decodeContent(message.content, index)), ...name }
    case 'user':
      return { role: message.role, content: decodeContent(message.content, index), ...name }
    case 'assistant':
      return { ...decodeAssistant(message, index), ...name }
    case 'tool':
      return { role: 'tool', content: decodeContent(message.content, index), toolCallId: message.tool_call_id, ...name }
    case 'function': {
      const toolCallId = functionCallIds.get(message.name) ?? functionCallId(index)
      return { role: 'tool', content: decodeContent(message.content, index), toolCallId, ...name }
    }
  }
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

/** Deterministic, so that the same history keeps the same prompt and the prefix cache stays valid. */
function functionCallId(index: number): string {
  return `call_function_${index}`
}

function decodeAssistant(message: WireAssistant, index: number): Extract<Message, { role: 'assistant' }> {
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
      ...decodeCalls(message, index),
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

function decodeCalls({ tool_calls, function_call }: WireAssistant, index: number): ToolCallPart[] {
  const calls = (tool_calls ?? []).map((call, position) => {
    const callPath = `messages[${index}].tool_calls[${position}]`
    if (call.type === 'custom') {
      const { name, input } = call.custom ?? missing(`${callPath}.custom`)
      return { type: 'tool-call', id: call.id, name, input, kind: 'custom' } as const
    }
    if (typeof call.type === 'string' && call.type !== 'function') {
      throw unsupported(`${callPath}.type`, `expected "function" or "custom", got ${preview(call.type)}`)
    }
    return decodeCall(call.id, call.function ?? missing(`${callPath}.function`), `${callPath}.function`)
  })
  return function_call ? [...calls, decodeCall(functionCallId(index), function_call, `messages[${index}].function_call`)] : calls
}

function missing(param: string): never {
  throw new AppError('invalid-request', `${param} is missing: expected an object`, { param })
}

function decodeCall(id: string, call: WireFunctionCall, path: string): ToolCallPart {
  return {
    type: 'tool-call',
    id,
    name: call.name,
    input: typeof call.arguments === 'string' ? requireSmall(call.arguments, path) : stringify(call.arguments, path),
  }
}

/** Templates parse arguments: what would take long as part of the body takes long as text too. */
function requireSmall(text: string, path: string): string {
  if (text.length <= maxUncountedChars) return text
  try {
    new JsonScanner(`${path}.arguments`).push(Buffer.from(text))
  } catch (error) {
    throw new AppError('invalid-request', AppError.from(error).message, { param: `${path}.arguments`, cause: error })
  }
  return text
}

function stringify(value: object, path: string): string {
  refuseLargeJson(value, `${path}.arguments`)
  return JSON.stringify(value)
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
    case 'image_url': {
      const { url, detail } = part.image_url
      return { ...decodeDataUrl(url, 'image', `${path}.image_url.url`), ...(typeof detail === 'string' && { detail }) }
    }
    case 'input_audio': {
      const { data, format } = part.input_audio
      refuseBadBase64(data, `${path}.input_audio.data`)
      const mediaType = format === 'mp3' ? 'audio/mpeg' : 'audio/wav'
      return { type: 'media', kind: 'audio', mediaType, source: { type: 'bytes', base64: data } }
    }
    case 'file':
      throw unsupported(path, 'file parts cannot be read: put the text of the file into a text part')
  }
}

function unsupported(param: string, reason: string): AppError {
  return new AppError('unsupported-field', `${param} is not supported: ${reason}`, { param })
}
