import { outsideText } from '../../canonical/tool-output.ts'
import type { ContentPart, FunctionTool, Message, OutputPart, TextPart } from '../../contract/request.ts'
import type { Sealer } from '../../contract/sealer.ts'
import { withoutBillingLine } from '../wire/billing-line.ts'
import { callInput } from '../wire/call-input.ts'
import type { DecodedMessages, MessagePaths } from '../wire/message-paths.ts'
import { unseal } from '../wire/sealed.ts'
import { decodeBlock, text } from './decode-blocks.ts'
import {
  type AssistantBlock,
  type CountWire,
  fetchedPage,
  programResult,
  type ResultBlock,
  type ServerResultBlock,
  type SystemBlock,
  sealedResult,
  type ToolResultBlock,
  type ToolUseBlock,
  textBlock,
  type UserBlock,
  type WireMessage,
} from './schema.ts'
import { describeTool } from './tool-references.ts'

/** A conversation, and its blocks that do not reach the model, at least not completely. */
type DecodedConversation = DecodedMessages & { readonly ignored: readonly string[] }

/** The context that a conversation needs beside its messages. */
export type ConversationSources = {
  readonly sealer: Sealer
  /** The texts of call inputs that `JSON.parse` would change, by path. */
  readonly exactInputs: ReadonlyMap<string, string>
  /** The tools that search results may refer to. */
  readonly tools: readonly FunctionTool[]
}

/** Decodes `system` and `messages`. Throws for media by URL or file, and for bytes that are not base64. */
export function decodeMessages(
  { system, messages: wire }: Pick<CountWire, 'system' | 'messages'>,
  sources: ConversationSources,
): DecodedConversation {
  const decoder = new Decoder(sources)
  decoder.addSystem(system ?? [], 'system')
  for (const [index, message] of wire.entries()) decoder.addMessage(message, `messages[${index}]`)
  return decoder
}

class Decoder implements DecodedConversation {
  readonly messages: Message[] = []
  readonly paths: MessagePaths[] = []
  readonly ignored: string[] = []
  readonly #sources: ConversationSources
  /** The tools of calls in assistants' turns, by their ids. */
  readonly #called = new Map<string, string>()

  constructor(sources: ConversationSources) {
    this.#sources = sources
  }

  /** The system prompt, or a late system message, at this path. An empty one is left out. */
  addSystem(content: string | readonly SystemBlock[], path: string): void {
    const blocks = typeof content === 'string' ? [{ text: content }] : content
    const parts: TextPart[] = []
    const partPaths: string[] = []
    for (const [index, block] of blocks.entries()) {
      const at = typeof content === 'string' ? path : `${path}[${index}]`
      const stable = withoutBillingLine(block.text)
      if (stable !== block.text) this.ignored.push(at)
      if (stable === '' && block.text !== '') continue
      parts.push(text(stable))
      partPaths.push(at)
    }
    const message = path.replace(/\.content$/, '')
    if (parts.some((part) => part.text !== '')) this.#add({ role: 'system', content: parts }, message, partPaths)
  }

  addMessage(message: WireMessage, path: string): void {
    switch (message.role) {
      case 'system':
        this.addSystem(message.content, `${path}.content`)
        break
      case 'user':
        this.#addUser(message.content, path)
        break
      case 'assistant':
        this.#addAssistant(message.content ?? [], path)
        break
    }
  }

  /** Results come first, in order: templates show them next to the calls that they answer. */
  #addUser(content: string | readonly UserBlock[], path: string): void {
    if (typeof content === 'string') {
      this.#add({ role: 'user', content: [text(content)] }, path, [`${path}.content`])
      return
    }
    const rest: ContentPart[] = []
    const parts: string[] = []
    for (const [index, block] of content.entries()) {
      const at = `${path}.content[${index}]`
      if (block.type === 'tool_result') this.#addResult(block, at)
      else {
        rest.push(decodeBlock(block, at))
        parts.push(at)
      }
    }
    if (rest.length > 0) this.#add({ role: 'user', content: rest }, path, parts)
  }

  #addResult({ content, tool_use_id: toolCallId, is_error }: ToolResultBlock, path: string): void {
    const given = content ?? []
    const isText = typeof given === 'string'
    const parts = isText ? [text(given)] : given.map((item, index) => this.#decodeResult(item, `${path}.content[${index}]`))
    const partPaths = isText ? [`${path}.content`] : given.map((_, index) => `${path}.content[${index}]`)
    const isError = is_error === true && ({ isError: true } as const)
    this.#add({ role: 'tool', content: parts, toolCallId, ...isError }, path, partPaths)
  }

  #decodeResult(block: ResultBlock, path: string): ContentPart {
    if (block.type !== 'tool_reference') return decodeBlock(block, path)
    const description = describeTool(block.tool_name, this.#sources.tools)
    if (description === undefined) this.ignored.push(path)
    return text(description ?? `The tool ${block.tool_name} is not available.`)
  }

  #addAssistant(content: string | readonly AssistantBlock[], path: string): void {
    const blocks = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
    const parts: OutputPart[] = []
    const partPaths: string[] = []
    for (const [index, block] of blocks.entries()) {
      const at = typeof content === 'string' ? `${path}.content` : `${path}.content[${index}]`
      const part = this.#decodeAssistantBlock(block, at)
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
    switch (block.type) {
      case 'text':
        return text(block.text)
      case 'compaction':
        return text(block.content ?? '')
      case 'tool_use':
      case 'server_tool_use':
      case 'mcp_tool_use': {
        const input = this.#sources.exactInputs.get(`${path}.input`) ?? callInput(block.input)
        const name = toolOf(block)
        this.#called.set(block.id, name)
        return { type: 'tool-call', id: block.id, name, input }
      }
      case 'thinking': {
        // A thought stays only if the model thought it.
        const thought = unseal(this.#sources.sealer, block.signature ?? '', 'thought')
        if (thought === undefined || (block.thinking !== '' && block.thinking !== thought.text)) return undefined
        const { text: words, opaque } = thought
        return { type: 'reasoning', text: words, ...(opaque !== undefined && { opaque }) }
      }
      case 'server_result': {
        const isError = block.is_error === true && ({ isError: true } as const)
        const { tool_use_id: toolCallId } = block
        const sources = { tool: this.#called.get(toolCallId) ?? 'a tool', sealer: this.#sources.sealer }
        return { type: 'tool-result', toolCallId, content: decodeServerResult(block, sources), ...isError }
      }
      // Content that only Anthropic's models read, and additions of later versions.
      case 'redacted_thinking':
      case 'unknown':
        return undefined
    }
  }

  #add(message: Message, path: string, parts: readonly string[]): void {
    this.messages.push(message)
    this.paths.push({ message: path, parts })
  }
}

const names: Readonly<Record<string, string>> = {
  web_fetch: 'web_search',
  code_execution: 'python',
  bash_code_execution: 'terminal',
}

/** The model's name of the tool of an assistant's block. */
function toolOf({ type, name, server_name: server }: ToolUseBlock): string {
  if (type === 'mcp_tool_use') return typeof server === 'string' ? `${server}__${name}` : name
  return type === 'server_tool_use' && Object.hasOwn(names, name) ? (names[name] ?? name) : name
}

type Sources = { readonly tool: string; readonly sealer: Sealer }

/**
 * The result of a tool that a server ran in an assistant's turn: the words that the model read, where this server ran it; else its texts,
 * or its JSON. Only Anthropic's models read a result that is encrypted elsewhere.
 */
function decodeServerResult({ content }: ServerResultBlock, { tool, sealer }: Sources): readonly ContentPart[] {
  return [text(outsideText(tool, wordsIn(content, sealer)))]
}

function wordsIn(content: unknown, sealer: Sealer): string {
  if (typeof content === 'string') return content
  if (content === undefined || content === null) return ''
  const blocks = Array.isArray(content) ? content : [content]
  const found = sealedResult.safeParse(blocks[0])
  const own = found.success ? unseal(sealer, found.data.encrypted_content, 'result') : undefined
  return own?.text ?? blocks.map(wordsOf).join('\n')
}

function wordsOf(block: unknown): string {
  const said = textBlock.safeParse(block)
  if (said.success) return said.data.text
  const program = programResult.safeParse(block)
  if (program.success) {
    const { stdout, stderr, return_code: code } = program.data
    const lead = code !== 0 && stderr === '' ? `Exit code ${code}:` : ''
    return [lead, stdout, stderr].filter((line) => line !== '').join('\n')
  }
  const page = fetchedPage.safeParse(block)
  if (page.success) return page.data.content.source.data
  return JSON.stringify(block, withoutEncrypted) ?? ''
}

function withoutEncrypted(key: string, value: unknown): unknown {
  return key.startsWith('encrypted_') ? undefined : value
}
