import type { AppError } from '../../../contract/errors.ts'
import type { EventOf, GeneratedToken, GenerationEvent, ServerToolCall, Usage } from '../../../contract/event.ts'
import { isTruncated } from '../../../contract/is-truncated.ts'
import type { JsonObject } from '../../../contract/request.ts'
import type { ResponseStatus } from '../../../contract/store.ts'
import type { ComparedPrompt } from '../../../contract/usage.ts'
import { toFrameJson } from '../../wire/json/frame-json.ts'
import { handleEvents } from '../../wire/stream/encode-stream.ts'
import { encodeDiagnostics } from '../cache-diagnostics.ts'
import type { DecodedResponse } from '../decode.ts'
import { createIdFor } from '../item-id.ts'
import type { MadeItem, ResponseItem, WireResponse } from '../replies.ts'
import { encodeFailure, encodeUsage, endOf } from '../response-end.ts'
import { CallItem } from './call-item.ts'
import { MessageItem } from './message-item.ts'
import { type Emitter, type OutputItem, WholeItem } from './output-item.ts'
import { ReasoningItem } from './reasoning-item.ts'
import { ServerCallItem } from './server-call-item.ts'

/** An event of a stream on the wire. */
export type ResponseEvent = JsonObject & { readonly type: string; readonly sequence_number: number }

/** Follows one generation, for streams, whole replies and stored responses alike. */
export interface ResponseEncoder {
  /** The events of a response that waits to be run in the background. */
  queued(): readonly ResponseEvent[]
  /** The events on the wire for this event of the generation; none after the end. */
  encode(event: GenerationEvent): readonly ResponseEvent[]
  /** Adds an item that the server made itself, such as a compaction. */
  add(item: MadeItem): readonly ResponseEvent[]
  /** Ends the response on request; it keeps its output so far. No events when it has ended already. */
  cancelled(): readonly ResponseEvent[]
  readonly status: ResponseStatus
  /** The response as it stands now, with its output. */
  snapshot(): WireResponse
  readonly output: readonly MadeItem[]
}

/** An event as server-sent text. */
export function toSse(event: ResponseEvent): string {
  return `event: ${event.type}\ndata: ${toFrameJson(event)}\n\n`
}

export function createResponseEncoder(decoded: Pick<DecodedResponse, 'head' | 'style'>): ResponseEncoder {
  return new Encoder(decoded)
}

class Encoder implements ResponseEncoder {
  readonly #decoded: Pick<DecodedResponse, 'head' | 'style'>
  readonly #items: OutputItem[] = []
  #events: ResponseEvent[] = []
  #nextSequence = 0
  #status: ResponseStatus = 'in_progress'
  #hasBegun = false
  #hasEnded = false
  #model: string | undefined
  #compared: ComparedPrompt | undefined
  #open: OutputItem | undefined
  #heldTokens: readonly GeneratedToken[] = []
  #finish: EventOf<'finish'> | undefined
  #usage: Usage | undefined
  #failure: AppError | undefined
  #completedAtSeconds: number | null = null

  readonly #add = handleEvents<void>(
    {
      start: ({ model, compared }) => {
        this.#model = model
        this.#compared = compared
        this.#status = 'in_progress'
        this.#begin()
        this.#sendResponse('response.in_progress')
      },
      'text-start': () => this.#endBlock(),
      'text-delta': ({ delta, tokens = [] }) => this.#addText(delta, tokens),
      'text-end': () => this.#endBlock(),
      'refusal-start': () => this.#endBlock(),
      'refusal-delta': ({ delta }) => {
        if (delta !== '') this.#toMessage().addRefusal(delta)
      },
      'refusal-end': () => this.#endBlock(),
      annotation: ({ annotation }) => this.#toMessage().addAnnotation(annotation),
      'reasoning-start': () => this.#close(),
      'reasoning-delta': ({ delta }) => {
        if (delta !== '') this.#toThought().add(delta)
      },
      'reasoning-end': ({ opaque }) => {
        if (opaque !== undefined) this.#toThought().addOpaque(opaque)
        if (this.#open instanceof ReasoningItem) this.#close()
      },
      'tool-call-start': (event) => {
        const tool = this.#decoded.style.names.restore(event.name)
        this.#openItem((emitter) => new CallItem(emitter, event, tool))
      },
      // Blocks never interleave, so the open item is this call; so is a tool's of the server.
      'tool-call-delta': ({ delta }) => {
        if (this.#open instanceof CallItem) this.#open.add(delta)
      },
      'tool-call-end': ({ state }) => this.#close(state === 'unparseable' ? 'incomplete' : 'completed'),
      'mcp-tools': (event) => this.#addWhole(listItem(event)),
      'approval-request': ({ call }) => this.#addWhole(approvalItem(call)),
      'server-tool-start': ({ call }) => {
        this.#openItem((emitter) => new ServerCallItem(emitter, call, this.#decoded.style))
      },
      'server-tool-end': ({ outcome }) => {
        if (this.#open instanceof ServerCallItem) this.#open.finish(outcome)
        this.#open = undefined
      },
      finish: (event) => {
        this.#finish = event
        this.#close(isTruncated(event) ? 'incomplete' : 'completed')
      },
      usage: ({ usage }) => {
        this.#usage = usage
        this.#end(endOf(this.#finish?.reason ?? 'stop').status)
      },
      error: ({ error }) => {
        this.#failure = error
        this.#end('failed')
      },
    },
    // The protocol has no place for what is known of the prompt.
    () => undefined,
  )

  constructor(decoded: Pick<DecodedResponse, 'head' | 'style'>) {
    this.#decoded = decoded
  }

  get status(): ResponseStatus {
    return this.#status
  }

  get output(): readonly MadeItem[] {
    return this.#items.map((item) => ({ id: item.id, json: item.toJson() }))
  }

  queued(): readonly ResponseEvent[] {
    this.#status = 'queued'
    this.#begin()
    this.#sendResponse('response.queued')
    return this.#take()
  }

  encode(event: GenerationEvent): readonly ResponseEvent[] {
    if (!this.#hasEnded) this.#add(event)
    return this.#take()
  }

  add(item: MadeItem): readonly ResponseEvent[] {
    if (!this.#hasEnded) this.#addWhole(item)
    return this.#take()
  }

  cancelled(): readonly ResponseEvent[] {
    if (!this.#hasEnded) this.#end('cancelled')
    return this.#take()
  }

  snapshot(): WireResponse {
    const reason = this.#finish === undefined ? undefined : endOf(this.#finish.reason).incomplete
    return {
      ...this.#decoded.head,
      model: this.#model ?? this.#decoded.head.model,
      status: this.#status,
      completed_at: this.#completedAtSeconds,
      error: this.#failure === undefined ? null : encodeFailure(this.#failure),
      incomplete_details: this.#status === 'incomplete' && reason !== undefined ? { reason } : null,
      output: this.#items.map((item) => item.toJson()),
      usage: this.#usage === undefined ? null : encodeUsage(this.#usage),
      ...(this.#compared !== undefined && { prompt_cache_diagnostics: encodeDiagnostics(this.#compared) }),
    }
  }

  #endBlock(): void {
    if (this.#open instanceof MessageItem) this.#open.endBlock()
    else this.#close()
  }

  #begin(): void {
    if (!this.#hasBegun) this.#sendResponse('response.created')
    this.#hasBegun = true
  }

  /** Tokens without a text of their own come with the text that follows; those of a call's tags have no place. */
  #addText(delta: string, tokens: readonly GeneratedToken[]): void {
    const all = [...this.#heldTokens, ...tokens]
    this.#heldTokens = delta === '' ? all : []
    if (delta !== '') this.#toMessage().addText(delta, all)
  }

  /** The open message; texts and refusals that follow each other are parts of one. */
  #toMessage(): MessageItem {
    const { style } = this.#decoded
    return this.#open instanceof MessageItem ? this.#open : this.#openItem((emitter) => new MessageItem(emitter, style))
  }

  #toThought(): ReasoningItem {
    const { style } = this.#decoded
    return this.#open instanceof ReasoningItem ? this.#open : this.#openItem((emitter) => new ReasoningItem(emitter, style))
  }

  #openItem<Item extends OutputItem>(create: (emitter: Emitter) => Item): Item {
    this.#close()
    this.#heldTokens = []
    const item = create({ send: this.#send, outputIndex: this.#items.length })
    this.#items.push(item)
    this.#open = item
    return item
  }

  #addWhole(item: MadeItem): void {
    this.#openItem((emitter) => new WholeItem(emitter, item))
    this.#close()
  }

  #close(status: 'completed' | 'incomplete' = 'completed'): void {
    this.#open?.close(status)
    this.#open = undefined
  }

  /** The protocol's streams end with one of three events; a cancelled response is `incomplete`, and says `cancelled` itself. */
  #end(status: ResponseStatus): void {
    this.#close('incomplete')
    this.#status = status
    this.#hasEnded = true
    if (status === 'completed') this.#completedAtSeconds = Math.floor(Date.now() / 1000)
    this.#sendResponse(`response.${status === 'completed' || status === 'failed' ? status : 'incomplete'}`)
  }

  #sendResponse(type: string): void {
    this.#send(type, { response: this.snapshot() })
  }

  readonly #send = (type: string, fields: JsonObject): void => {
    this.#events.push({ type, sequence_number: this.#nextSequence, ...fields })
    this.#nextSequence += 1
  }

  #take(): readonly ResponseEvent[] {
    const events = this.#events
    this.#events = []
    return events
  }
}

/** The list of tools of an MCP server. */
function listItem({ server, tools, error }: EventOf<'mcp-tools'>): MadeItem {
  const listed = tools.map(({ name, description, parameters }): JsonObject => ({ name, description, input_schema: parameters }))
  return itemOf({ type: 'mcp_list_tools', server_label: server, tools: listed, ...(error !== undefined && { error }) })
}

/** A call that the next request has to approve, by the id of this item. */
function approvalItem({ name, mcp, arguments: given }: ServerToolCall): MadeItem {
  const called = { server_label: mcp?.server ?? '', name: mcp?.name ?? name, arguments: JSON.stringify(given) }
  return itemOf({ type: 'mcp_approval_request', ...called })
}

function itemOf(json: ResponseItem): MadeItem {
  const id = createIdFor(json.type)
  return { id, json: { id, ...json } }
}
