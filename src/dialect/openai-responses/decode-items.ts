import { outsideText } from '../../canonical/tool-output.ts'
import { AppError } from '../../contract/errors.ts'
import type { Message, OutputPart, ToolApproval } from '../../contract/request.ts'
import type { Sealer } from '../../contract/sealer.ts'
import { refuseLargeJson } from '../openai/large-json.ts'
import { callInput } from '../wire/call-input.ts'
import type { DecodedMessages, MessagePaths } from '../wire/message-paths.ts'
import { preview } from '../wire/preview.ts'
import { unseal } from '../wire/sealed.ts'
import { decodeContent, decodePart } from './decode-content.ts'
import type { DecodedTools } from './decode-tools.ts'
import type { Entry } from './entries.ts'
import { isKnownItem, type KnownItem, type OtherItem, type WirePart } from './item-schema.ts'
import { type ToolName, toolNameOf } from './namespaces.ts'
import { readOther } from './other-items.ts'
import { Approvals } from './server-tools/approvals.ts'
import { flatName, readServerCall, type ServerItem } from './server-tools/item-schema.ts'
import { isKnownTool, type WireTool } from './tool-schema.ts'

/** A conversation, and its items that do not reach the model. */
export type Conversation = DecodedMessages & {
  readonly ignored: readonly string[]
  /** The decisions on calls at its end, which the server then runs or refuses. */
  readonly approvals: readonly ToolApproval[]
}

type Options = { readonly instructions: string; readonly sealer: Sealer; readonly tools: Pick<DecodedTools, 'tools' | 'names'> }

/**
 * Decodes instructions and items. The assistant's items up to the next item of another kind are one turn, in order. Throws for a result
 * without a call, an answer without a question, a compaction by another server, and an input from which nothing is left.
 */
export function decodeItems(entries: readonly Entry[], options: Options): Conversation {
  const approvals = new Approvals(entries)
  const decoder = new Decoder(options, approvals)
  decoder.addInstructions(options.instructions)
  for (const entry of entries) decoder.add(entry)
  const { leftOut, ...conversation } = decoder.end()
  if (leftOut > 0 && leftOut === entries.filter(({ isOwn }) => isOwn).length) {
    const what = preview(conversation.ignored[0])
    const message = `nothing of the input reaches the model, since ${what} has no meaning here: send a message`
    throw new AppError('invalid-request', message, { param: 'input' })
  }
  return { ...conversation, approvals: approvals.answers }
}

type AssistantTurn = { readonly path: string; readonly parts: OutputPart[]; readonly partPaths: string[] }

class Decoder {
  readonly #messages: Message[] = []
  readonly #paths: MessagePaths[] = []
  readonly #ignored: string[] = []
  /** Own items that do not reach the model at all. */
  #leftOut = 0
  readonly #sealer: Sealer
  readonly #tools: Options['tools']
  readonly #approvals: Approvals
  readonly #callIds = new Set<string>()
  #turn: AssistantTurn | undefined

  constructor({ sealer, tools }: Options, approvals: Approvals) {
    this.#sealer = sealer
    this.#tools = tools
    this.#approvals = approvals
  }

  addInstructions(instructions: string): void {
    if (instructions !== '') {
      this.#addMessage({ role: 'system', content: [{ type: 'text', text: instructions }] }, 'instructions', ['instructions'])
    }
  }

  add({ item, path, isOwn }: Entry): void {
    const isRead = isKnownItem(item) ? this.#addKnown(item, path) : this.#addOther(item, path, isOwn)
    if (isRead || !isOwn) return
    this.#ignored.push(path)
    this.#leftOut++
  }

  end(): Omit<Conversation, 'approvals'> & { readonly leftOut: number } {
    this.#closeTurn()
    // Templates render a conversation, so an empty input, which clients send to probe a model, becomes an empty message.
    if (!this.#messages.some(({ role }) => role !== 'system' && role !== 'developer')) {
      this.#addMessage({ role: 'user', content: [{ type: 'text', text: '' }] }, 'input', ['input'])
    }
    return { messages: this.#messages, paths: this.#paths, ignored: this.#ignored, leftOut: this.#leftOut }
  }

  /** False for an item that does not reach the model at all. */
  #addKnown(item: KnownItem, path: string): boolean {
    switch (item.type) {
      case 'message':
      case undefined:
        this.#addContent(item.role, item.content, path)
        return true
      case 'reasoning':
        return this.#addThought(item, path)
      case 'function_call':
        refuseLargeJson(item.arguments, `${path}.arguments`)
        this.#addCall(item, callInput(item.arguments), path)
        return true
      case 'custom_tool_call':
        this.#addCall({ ...item, kind: 'custom' }, item.input, path)
        return true
      case 'function_call_output':
      case 'custom_tool_call_output':
        this.#addResult(item, path)
        return true
      case 'tool_search_call':
        // An item without an id was run by OpenAI's servers, and so was its output.
        if (typeof item.call_id !== 'string') return false
        this.#addCall({ call_id: item.call_id, name: 'tool_search' }, textOf(item.arguments), path)
        return true
      case 'tool_search_output':
        if (typeof item.call_id !== 'string') return false
        this.#addResult({ call_id: item.call_id, output: describeFound(item.tools, this.#tools) }, path)
        return true
      case 'compaction':
        this.#addSummary(item.encrypted_content, path)
        return true
      case 'web_search_call':
      case 'code_interpreter_call':
      case 'mcp_call':
        return this.#addServerCall(item.id ?? path, readServerCall(item), path)
      case 'mcp_approval_request':
        this.#addRequest(item, path)
        return true
      // The service acts on a trigger, and replaces references; tools are declared elsewhere, and answers accompany their requests.
      case 'mcp_list_tools':
      case 'mcp_approval_response':
      case 'additional_tools':
      case 'compaction_trigger':
      case 'item_reference':
        return true
    }
  }

  #addOther(item: OtherItem, path: string, isOwn: boolean): boolean {
    refuseLargeJson(item, path)
    const meaning = readOther(item)
    switch (meaning?.type) {
      case undefined:
        return false
      case 'message':
        this.#addContent(meaning.role, meaning.content, path)
        if (isOwn) this.#ignored.push(...meaning.lost.map((place) => `${path}.${place}`))
        return true
      case 'call':
        this.#addCall({ call_id: meaning.id, name: meaning.name }, meaning.input, path)
        return true
      case 'answered-call':
        return this.#addServerCall(item.id ?? path, meaning, path)
      case 'result':
        if (!this.#callIds.has(meaning.callId)) return false
        this.#addResult({ call_id: meaning.callId, output: meaning.output }, path)
        return true
    }
  }

  #addContent(role: 'user' | 'assistant' | 'system' | 'developer', content: string | readonly WirePart[], path: string): void {
    // An input that is a text has no parts.
    const whole = path === 'input' ? path : `${path}.content`
    const paths = typeof content === 'string' ? [whole] : content.map((_, index) => `${path}.content[${index}]`)
    if (role !== 'assistant') {
      this.#addMessage({ role, content: decodeContent(content, `${path}.content`) }, path, paths)
      return
    }
    const parts = typeof content === 'string' ? [{ type: 'output_text' as const, text: content }] : content
    for (const [index, part] of parts.entries()) {
      const at = paths[index] ?? path
      this.#addPart(part.type === 'refusal' ? { type: 'refusal', text: part.refusal } : decodePart(part, at), at, path)
    }
  }

  /** The full reasoning if this server sealed it; otherwise its visible text, unless another server has all of it. */
  #addThought(item: Extract<KnownItem, { type: 'reasoning' }>, path: string): boolean {
    const { encrypted_content: encrypted, content, summary } = item
    if (typeof encrypted === 'string' && encrypted !== '') {
      const thought = unseal(this.#sealer, encrypted, 'thought')
      if (thought === undefined) return false
      const { text, opaque } = thought
      this.#addPart({ type: 'reasoning', text, ...(opaque !== undefined && { opaque }) }, path, path)
      return true
    }
    const shown = (content ?? []).length > 0 ? content : summary
    const text = (shown ?? []).map((part) => part.text).join('\n\n')
    if (text !== '') this.#addPart({ type: 'reasoning', text }, path, path)
    return true
  }

  #addCall(call: { call_id: string; name: string; namespace?: unknown; kind?: 'custom' }, input: string, path: string): void {
    const { call_id: id, name, namespace, kind } = call
    this.#callIds.add(id)
    const flat = this.#tools.names.flatten(toolNameOf(name, namespace))
    this.#addPart({ type: 'tool-call', id, name: flat, input, ...(kind !== undefined && { kind }) }, path, path)
  }

  /** A call of a server tool with its result; false without a result in the item. */
  #addServerCall(id: string, call: ReturnType<typeof readServerCall>, path: string): boolean {
    if (call === undefined) return false
    const { name, input, result, isError } = call
    this.#addPart({ type: 'tool-call', id, name, input: callInput(input) }, path, path)
    this.#addPart(
      {
        type: 'tool-result',
        toolCallId: id,
        content: [{ type: 'text', text: outsideText(name, result) }],
        ...(isError && { isError }),
      },
      path,
      path,
    )
    return true
  }

  /** A call that waits for approval: the server runs it if it is answered now. */
  #addRequest(item: Extract<ServerItem, { type: 'mcp_approval_request' }>, path: string): void {
    const state = this.#approvals.stateOf(item)
    if (state === 'done') return
    const { id, server_label: server, name } = item
    this.#addPart({ type: 'tool-call', id, name: flatName(server, name), input: callInput(item.arguments) }, path, path)
    if (state === 'answered') return
    const content = [{ type: 'text' as const, text: 'This call did not run: the user did not approve it.' }]
    this.#addPart({ type: 'tool-result', toolCallId: id, content, isError: true }, path, path)
  }

  #addResult({ call_id: id, output }: { call_id: string; output: string | readonly WirePart[] }, path: string): void {
    if (!this.#callIds.has(id)) {
      const param = `${path}.call_id`
      const message = `${param} ${preview(id)} has no call: send the call before its output, or name the response that made it`
      throw new AppError('invalid-request', message, { param })
    }
    const parts = typeof output === 'string' ? [`${path}.output`] : output.map((_, index) => `${path}.output[${index}]`)
    this.#addMessage({ role: 'tool', content: decodeContent(output, `${path}.output`), toolCallId: id }, path, parts)
  }

  #addSummary(encrypted: string, path: string): void {
    const summary = unseal(this.#sealer, encrypted, 'summary')
    if (summary === undefined) {
      const param = `${path}.encrypted_content`
      const message = `${param} was not made by this server, so it cannot be read: compact the conversation again`
      throw new AppError('invalid-request', message, { param })
    }
    const text = `Summary of the conversation so far:\n\n${summary.text}`
    this.#addMessage({ role: 'user', content: [{ type: 'text', text }] }, path, [path])
  }

  #addPart(part: OutputPart, at: string, path: string): void {
    this.#turn ??= { path, parts: [], partPaths: [] }
    this.#turn.parts.push(part)
    this.#turn.partPaths.push(at)
  }

  #closeTurn(): void {
    if (this.#turn === undefined) return
    const { path, parts, partPaths } = this.#turn
    this.#turn = undefined
    this.#addMessage({ role: 'assistant', parts }, path, partPaths)
  }

  #addMessage(message: Message, path: string, parts: readonly string[]): void {
    this.#closeTurn()
    this.#messages.push(message)
    this.#paths.push({ message: path, parts })
  }
}

function textOf(input: unknown): string {
  return typeof input === 'string' ? input : JSON.stringify(input ?? {})
}

/** The tools that a search found, as its result shows them to the model, by the names that the model can call. */
function describeFound(found: readonly WireTool[], { tools, names }: Options['tools']): string {
  const flat = new Set(found.flatMap(membersOf).map((tool) => names.flatten(tool)))
  const lines = tools.flatMap((tool) => {
    if (!flat.has(tool.name)) return []
    const { name, description } = tool
    const parameters = tool.type === 'custom' ? undefined : tool.parameters
    return [`<function>${JSON.stringify({ description, name, parameters })}</function>`]
  })
  return lines.length === 0 ? 'No tools were found.' : lines.join('\n')
}

function membersOf(tool: WireTool): readonly ToolName[] {
  if (!isKnownTool(tool)) return []
  if (tool.type !== 'namespace') return [{ name: tool.name }]
  return tool.tools.map(({ name }) => ({ name, namespace: tool.name }))
}
