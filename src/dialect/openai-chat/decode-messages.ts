import { AppError } from '../../contract/errors.ts'
import type { MediaKind } from '../../contract/media.ts'
import type { Annotation, ContentPart, Message, OutputPart, ToolCallPart } from '../../contract/request.ts'
import { refuseLargeJson } from '../openai/large-json.ts'
import { pickSpelled } from '../openai/spelling.ts'
import { withoutBillingLine } from '../wire/billing-line.ts'
import { CallIds } from '../wire/call-ids.ts'
import { callInput } from '../wire/call-input.ts'
import { JsonScanner } from '../wire/json/json-scanner.ts'
import { mediaInBase64 } from '../wire/media-part.ts'
import type { DecodedMessages, MessagePaths } from '../wire/message-paths.ts'
import { preview } from '../wire/preview.ts'
import { decodeMedia } from './decode-media.ts'
import type { WireMessage, WirePart } from './message-schema.ts'
import type { ChatWire } from './schema.ts'

const maxUncountedChars = 64 * 1024

type WireAssistant = Extract<WireMessage, { role: 'assistant' }>
type WireFunctionCall = NonNullable<WireAssistant['function_call']>

/** A chat's conversation, and its parts that do not reach the model. */
type DecodedConversation = DecodedMessages & { readonly ignored: readonly string[] }

/**
 * Decodes a conversation, with the image and the sound beside it. Deprecated function messages become tool calls and results; calls and
 * results without an id get one. Throws for calls and ids in messages whose role has none.
 */
export function decodeMessages(wire: Pick<ChatWire, 'messages' | 'image_base64' | 'audio_base64'>): DecodedConversation {
  const decoder = new Decoder()
  for (const [index, message] of wire.messages.entries()) decoder.add(message, index)
  decoder.addBeside('image_base64', 'image', wire.image_base64)
  decoder.addBeside('audio_base64', 'audio', wire.audio_base64)
  return decoder
}

class Decoder implements DecodedConversation {
  readonly messages: Message[] = []
  readonly paths: MessagePaths[] = []
  ignored: readonly string[] = []
  readonly #ids = new CallIds()

  add(message: WireMessage, index: number): void {
    const at = `messages[${index}]`
    refuseMisplaced(message, at)
    const name = typeof message.name === 'string' ? { name: message.name } : undefined
    if (message.role === 'assistant') {
      const { parts, paths } = this.#decodeAssistant(message, index)
      this.#push({ role: 'assistant', parts, ...name }, at, paths)
      return
    }
    const paths = placesOf(message.content, `${at}.content`)
    const content = decodeContent(message.content, paths)
    switch (message.role) {
      case 'system':
      case 'developer':
        refuseMedia(content, paths)
        this.#push({ role: message.role, content: this.#withoutBilling(content), ...name }, at, paths)
        break
      case 'user':
        this.#ids.endTurn()
        this.#push({ role: message.role, content, ...name }, at, paths)
        break
      case 'tool':
      case 'function': {
        const id = message.role === 'tool' ? message.tool_call_id : undefined
        const toolCallId = this.#ids.ofResult({ id, name: message.name }, `call_of_result_${index}`)
        this.#push({ role: 'tool', content, toolCallId, ...name }, at, paths)
      }
    }
  }

  /** Media of a field beside the messages, placed after the text of the user's last message. */
  addBeside(field: string, kind: MediaKind, base64: string | null | undefined): void {
    if ((base64 ?? '') === '') return
    const media = mediaInBase64(kind, base64 ?? '')
    const last = this.messages.findLastIndex(({ role }) => role === 'user')
    const [message, places] = [this.messages[last], this.paths[last]]
    if (message?.role !== 'user' || places === undefined) this.#push({ role: 'user', content: [media] }, 'messages', [field])
    else {
      this.messages[last] = { ...message, content: [...message.content, media] }
      this.paths[last] = { ...places, parts: [...places.parts, field] }
    }
  }

  #push(message: Message, path: string, parts: readonly string[]): void {
    this.messages.push(message)
    this.paths.push({ message: path, parts })
  }

  /** Gateways pass Claude Code's billing line on. */
  #withoutBilling(content: readonly ContentPart[]): readonly ContentPart[] {
    return content.map((part) => {
      if (part.type !== 'text') return part
      const text = withoutBillingLine(part.text)
      if (text !== part.text) this.ignored = ['messages[].content']
      return { ...part, text }
    })
  }

  #decodeAssistant(message: WireAssistant, index: number): { readonly parts: readonly OutputPart[]; readonly paths: string[] } {
    const at = `messages[${index}]`
    if (message.audio !== undefined && message.audio !== null) {
      throw unsupported(`${at}.audio`, 'earlier audio replies are not stored')
    }
    const reasoning = pickSpelled(message, ['reasoning_content', 'reasoning'], `${at}.`)
    const contentPaths = placesOf(message.content, `${at}.content`)
    const content = annotate(decodeParts(message.content, contentPaths), message.annotations)
    const refusal = message.refusal ?? ''
    const calls = this.#decodeCalls(message, index)
    return {
      parts: [
        ...(reasoning === undefined ? [] : [{ type: 'reasoning', text: reasoning.value } as const]),
        ...content,
        ...(refusal === '' ? [] : [{ type: 'refusal', text: refusal } as const]),
        ...calls.map(({ call }) => call),
      ],
      paths: [
        ...(reasoning === undefined ? [] : [`${at}.${reasoning.name}`]),
        ...contentPaths,
        ...(refusal === '' ? [] : [`${at}.refusal`]),
        ...calls.map(({ path }) => path),
      ],
    }
  }

  #decodeCalls({ tool_calls, function_call }: WireAssistant, index: number): readonly PlacedCall[] {
    const calls = (tool_calls ?? []).map((call, position): PlacedCall => {
      const path = `messages[${index}].tool_calls[${position}]`
      const idOf = (name: string) => this.#ids.ofCall({ id: call.id, name }, `call_${index}_${position}`)
      if (call.type === 'custom') {
        const { name, input } = call.custom ?? missing(`${path}.custom`)
        return { call: { type: 'tool-call', id: idOf(name), name, input, kind: 'custom' }, path }
      }
      if (typeof call.type === 'string' && call.type !== 'function') {
        throw unsupported(`${path}.type`, `expected "function" or "custom", got ${preview(call.type)}`)
      }
      const called = call.function ?? missing(`${path}.function`)
      return { call: decodeCall(idOf(called.name), called, `${path}.function`), path }
    })
    if (!function_call) return calls
    const id = this.#ids.ofCall({ name: function_call.name }, `call_function_${index}`)
    const path = `messages[${index}].function_call`
    return [...calls, { call: decodeCall(id, function_call, path), path }]
  }
}

type PlacedCall = { readonly call: ToolCallPart; readonly path: string }

/** Fields of another role: their content would be lost, and the role is probably wrong. */
function refuseMisplaced(message: WireMessage, at: string): void {
  const { role, tool_calls: calls, tool_call_id: id }: MaybeMisplaced = message
  if (role !== 'assistant' && Array.isArray(calls) && calls.length > 0) {
    throw misplaced(`${at}.tool_calls`, { role, allowed: 'assistant' })
  }
  if (role !== 'tool' && typeof id === 'string' && id !== '') {
    throw misplaced(`${at}.tool_call_id`, { role, allowed: 'tool' })
  }
}

type MaybeMisplaced = { readonly role: string; readonly tool_calls?: unknown; readonly tool_call_id?: unknown }

function misplaced(param: string, { role, allowed }: { readonly role: string; readonly allowed: string }): AppError {
  const message = `${param} is only allowed in a message of role "${allowed}", and this one's is "${role}": change the role, or leave it out`
  return new AppError('invalid-request', message, { param })
}

/** OpenAI's system messages contain only text, and templates print nothing else there. */
function refuseMedia(content: readonly ContentPart[], paths: readonly string[]): void {
  const position = content.findIndex(({ type }) => type !== 'text')
  if (position !== -1) throw unsupported(paths[position] ?? '', 'system messages have text only; send it in a user message')
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

/** Templates parse arguments: limits of the body apply to the text, too. */
function requireSmall(text: string, param: string): void {
  if (text.length <= maxUncountedChars) return
  try {
    new JsonScanner(param).push(Buffer.from(text))
  } catch (error) {
    throw new AppError('invalid-request', AppError.from(error).message, { param, cause: error })
  }
}

function decodeContent(content: WireContent, paths: readonly string[]): ContentPart[] {
  return decodeParts(content, paths).map((part, position) => {
    if (part.type === 'reasoning') throw unsupported(paths[position] ?? '', 'only the assistant thinks')
    return part.type === 'refusal' ? { type: 'text', text: part.text } : part
  })
}

type WireContent = string | readonly WirePart[] | null | undefined
type DecodedPart = ContentPart | Extract<OutputPart, { type: 'refusal' | 'reasoning' }>

function decodeParts(content: WireContent, paths: readonly string[]): DecodedPart[] {
  if (content === undefined || content === null) return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return content.map((part, position) => decodePart(part, paths[position] ?? ''))
}

/** The path of each part. */
function placesOf(content: WireContent, path: string): readonly string[] {
  if (Array.isArray(content)) return content.map((_, position) => `${path}[${position}]`)
  return typeof content === 'string' ? [path] : []
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
    case 'document_url':
      return decodeMedia(part, path)
    case 'thinking': {
      const { thinking } = part
      return { type: 'reasoning', text: typeof thinking === 'string' ? thinking : thinking.map(({ text }) => text).join('') }
    }
  }
}

function unsupported(param: string, reason: string): AppError {
  return new AppError('unsupported-field', `${param} is not supported: ${reason}`, { param })
}
