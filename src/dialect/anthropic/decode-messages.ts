import { AppError } from '../../contract/errors.ts'
import type { ContentPart, MediaPart, Message, OutputPart, TextPart } from '../../contract/request.ts'
import type { Sealer } from '../../contract/sealer.ts'
import { refuseBadBase64 } from '../wire/base64.ts'
import { preview } from '../wire/preview.ts'
import { unseal } from '../wire/sealed.ts'
import type { AssistantBlock, ContentBlock, CountWire, UserBlock, WireMessage } from './schema.ts'

/** A conversation in canonical form, and where each part of it stood in the request. */
export type DecodedMessages = {
  readonly messages: readonly Message[]
  /** For each message, the caller's path of the message and of each of its parts. */
  readonly paths: readonly { readonly message: string; readonly parts: readonly string[] }[]
  /** Blocks that do not reach the model. */
  readonly ignored: readonly string[]
}

/** A block that Claude Code puts before its system prompt; it changes from request to request, and would spoil every prompt cache. */
const billingBlock = /^x-anthropic-billing-header:/

/** What a conversation needs besides its messages. */
export type ConversationSources = {
  readonly sealer: Sealer
  /** The texts of inputs of calls that `JSON.parse` changed, by path. */
  readonly exactInputs: ReadonlyMap<string, string>
}

/** Decodes `system` and `messages`. Throws for media by URL or file, and for bytes that are not base64. */
export function decodeMessages(
  { system, messages: wire }: Pick<CountWire, 'system' | 'messages'>,
  sources: ConversationSources,
): DecodedMessages {
  const decoder = new Decoder(sources)
  decoder.addSystem(system ?? [])
  for (const [index, message] of wire.entries()) decoder.addMessage(message, `messages[${index}]`)
  return decoder
}

class Decoder implements DecodedMessages {
  readonly messages: Message[] = []
  readonly paths: { message: string; parts: readonly string[] }[] = []
  readonly ignored: string[] = []
  readonly #sources: ConversationSources

  constructor(sources: ConversationSources) {
    this.#sources = sources
  }

  addSystem(system: NonNullable<CountWire['system']>): void {
    const blocks = typeof system === 'string' ? [{ text: system }] : system
    const content: TextPart[] = []
    const parts: string[] = []
    for (const [index, { text }] of blocks.entries()) {
      const path = typeof system === 'string' ? 'system' : `system[${index}]`
      if (billingBlock.test(text)) this.ignored.push(path)
      else {
        content.push({ type: 'text', text })
        parts.push(path)
      }
    }
    if (content.some(({ text }) => text !== '')) this.#add({ role: 'system', content }, 'system', parts)
  }

  addMessage(message: WireMessage, path: string): void {
    switch (message.role) {
      case 'system':
        this.#addContent('system', message.content, path)
        break
      case 'user':
        this.#addUser(message.content, path)
        break
      case 'assistant':
        this.#addAssistant(message.content ?? [], path)
        break
    }
  }

  /** Results come first, in their order: templates show them next to the calls that they answer. */
  #addUser(content: string | readonly UserBlock[], path: string): void {
    if (typeof content === 'string') {
      this.#addContent('user', content, path)
      return
    }
    const rest: ContentPart[] = []
    const parts: string[] = []
    for (const [index, block] of content.entries()) {
      const at = `${path}.content[${index}]`
      if (block.type !== 'tool_result') {
        rest.push(decodeBlock(block, at))
        parts.push(at)
        continue
      }
      const given = block.content ?? []
      const result =
        typeof given === 'string' ? [text(given)] : given.map((item, at2) => decodeBlock(item, `${at}.content[${at2}]`))
      const resultParts = typeof given === 'string' ? [`${at}.content`] : given.map((_, at2) => `${at}.content[${at2}]`)
      const isError = block.is_error === true && ({ isError: true } as const)
      this.#add({ role: 'tool', content: result, toolCallId: block.tool_use_id, ...isError }, at, resultParts)
    }
    if (rest.length > 0 || content.length === 0) this.#add({ role: 'user', content: rest }, path, parts)
  }

  #addContent(role: 'user' | 'system', content: string | readonly ContentBlock[], path: string): void {
    if (typeof content === 'string') this.#add({ role, content: [text(content)] }, path, [`${path}.content`])
    else {
      const parts = content.map((_, index) => `${path}.content[${index}]`)
      this.#add({ role, content: content.map((block, index) => decodeBlock(block, parts[index] as string)) }, path, parts)
    }
  }

  #addAssistant(content: string | readonly AssistantBlock[], path: string): void {
    const blocks = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
    const parts: OutputPart[] = []
    const partPaths: string[] = []
    for (const [index, block] of blocks.entries()) {
      const at = typeof content === 'string' ? `${path}.content` : `${path}.content[${index}]`
      const part = this.#decodeAssistantBlock(block as AssistantBlock, at)
      if (part === undefined) this.ignored.push(at)
      else {
        parts.push(part)
        partPaths.push(at)
      }
    }
    this.#add({ role: 'assistant', parts }, path, partPaths)
  }

  /** Undefined for a block that does not reach the model. */
  #decodeAssistantBlock(block: AssistantBlock, path: string): OutputPart | undefined {
    if (isBlock(block, 'text')) return text(block.text)
    if (isBlock(block, 'tool_use')) {
      const input = this.#sources.exactInputs.get(`${path}.input`) ?? JSON.stringify(block.input)
      return { type: 'tool-call', id: block.id, name: block.name, input }
    }
    // What the model is said to have thought is what it thought, or it is left out.
    if (isBlock(block, 'thinking')) {
      const thought = unseal(this.#sources.sealer, block.signature ?? '', 'thought')
      if (thought === undefined || (block.thinking !== '' && block.thinking !== thought.text)) return undefined
      const { text, opaque } = thought
      return { type: 'reasoning', text, ...(opaque !== undefined && { opaque }) }
    }
    return undefined
  }

  #add(message: Message, path: string, parts: readonly string[]): void {
    this.messages.push(message)
    this.paths.push({ message: path, parts })
  }
}

/** TypeScript does not narrow the union by itself, because of the block of any other type. */
function isBlock<Type extends string>(block: AssistantBlock, type: Type): block is Extract<AssistantBlock, { type: Type }> {
  return block.type === type
}

function decodeBlock(block: ContentBlock, path: string): ContentPart {
  switch (block.type) {
    case 'text':
      return text(block.text)
    case 'image': {
      const { source } = block
      if (source.type === 'base64') return media('image', source.media_type, { base64: source.data, path: `${path}.source.data` })
      throw notFetched(path, source.type)
    }
    case 'document': {
      const { source, title, context } = block
      const head = [title, context].filter((line) => typeof line === 'string' && line !== '').join('\n')
      const about = head === '' ? '' : `${head}\n\n`
      switch (source.type) {
        case 'text':
          return text(about + source.data)
        case 'content':
          return text(
            about + (typeof source.content === 'string' ? source.content : source.content.map((item) => item.text).join('\n')),
          )
        case 'base64':
          return media('file', source.media_type, { base64: source.data, path: `${path}.source.data` })
        case 'url':
        case 'file':
          throw notFetched(path, source.type)
      }
      break
    }
    case 'search_result': {
      const found = block.content.map((item) => item.text).join('\n')
      return text(`${block.title}\n${block.source}\n\n${found}`)
    }
  }
}

function media(kind: 'image' | 'file', mediaType: string, { base64, path }: { base64: string; path: string }): MediaPart {
  const isKind = kind === 'file' || mediaType.toLowerCase().startsWith('image/')
  if (!isKind) {
    const param = path.replace(/\.data$/, '.media_type')
    throw new AppError('invalid-request', `${param}: expected an image type such as "image/png", got ${preview(mediaType)}`, {
      param,
    })
  }
  refuseBadBase64(base64, path)
  return {
    type: 'media',
    kind,
    mediaType: mediaType.toLowerCase(),
    source: { type: 'bytes', base64 },
  }
}

function notFetched(path: string, type: 'url' | 'file'): AppError {
  const param = `${path}.source`
  const what = type === 'url' ? 'is not fetched' : 'is not stored here'
  return new AppError('unsupported-field', `${param} of type "${type}" ${what}: send the bytes, with type "base64"`, { param })
}

function text(value: string): TextPart {
  return { type: 'text', text: value }
}
