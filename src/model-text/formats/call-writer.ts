import type { Tool } from '../../contract/request.ts'
import type { ChoiceSink } from '../scan/choice-sink.ts'
import { jsonReader, readObject } from '../scan/json-value.ts'
import type { Declared } from '../scan/schema-types.ts'
import type { Reading, TextFeed } from '../scan/text-feed.ts'

type WriterOptions = {
  /** The tools that may be called. */
  readonly tools: readonly Tool[]
  /** False: calls after the first are read and left out. */
  readonly parallel: boolean
  makeCallId(): string
}

/** What a call reader works with: the text, the tools, and where the call goes. One for each choice. */
export class CallWriter {
  readonly feed: TextFeed
  readonly #sink: ChoiceSink
  readonly #options: WriterOptions
  readonly #tools: ReadonlyMap<string, Tool>
  readonly #ids = new Set<string>()
  #deferred: { readonly tool: Tool; id: string | undefined; arguments: string } | undefined
  #muted = false
  #open = false
  /** Calls that left, so far. */
  calls = 0
  /** A name stood where a call's name stands, declared or not, since this was last set to false. */
  sawName = false

  constructor(feed: TextFeed, sink: ChoiceSink, options: WriterOptions) {
    this.feed = feed
    this.#sink = sink
    this.#options = options
    this.#tools = new Map(options.tools.map((tool) => [tool.name, tool]))
  }

  /** The tool that is called by this name, if it may be called. */
  tool(name: string): Tool | undefined {
    this.sawName = true
    return this.#tools.get(name)
  }

  get tools(): readonly Tool[] {
    return this.#options.tools
  }

  /**
   * Starts a call. From here on the text is the call's: it cannot be given back. An id that is empty, or another call's already,
   * is replaced.
   */
  open(tool: Tool, id?: string): void {
    this.feed.release()
    this.#open = true
    this.#muted = this.calls > 0 && !this.#options.parallel
    if (this.#muted) return
    this.calls += 1
    const ownId = id === undefined || id === '' || this.#ids.has(id) ? this.#options.makeCallId() : id
    this.#ids.add(ownId)
    this.#sink.openCall(ownId, tool.name)
  }

  /** As `open`, for formats whose calls carry an id of their own at their end: nothing leaves before `close`. */
  openDeferred(tool: Tool, id?: string): void {
    this.feed.release()
    this.#deferred = { tool, id, arguments: '' }
  }

  /** The id that the model gave the call; it counts until the call has left. */
  set callId(id: string) {
    if (this.#deferred !== undefined) this.#deferred.id ??= id
  }

  /** A piece of the arguments, as JSON text. */
  arguments(text: string): void {
    if (this.#deferred !== undefined) this.#deferred.arguments += text
    else if (!this.#muted) this.#sink.callArguments(text)
  }

  /** Ends the call, also one that the end of the text cut off. */
  close(): void {
    const deferred = this.#deferred
    if (deferred !== undefined) {
      this.#deferred = undefined
      this.open(deferred.tool, deferred.id)
      this.arguments(deferred.arguments)
    }
    if (this.#open && !this.#muted) this.#sink.closeBlock()
    this.#open = false
    this.#muted = false
  }
}

/** Reads one call, or several in one block, after its mark. False, with no call opened, when it is none after all. */
export type CallReader = (writer: CallWriter) => Reading<boolean>

/** What a tool declares about its arguments. */
export function declaredArguments(tool: Tool): Declared {
  return tool.parameters === undefined ? undefined : { schema: tool.parameters, root: tool.parameters }
}

/** Reads the arguments of the open call, an object that is next. Brackets missing at a natural end are added. */
export function* readArguments(
  writer: CallWriter,
  tool: Tool,
  options: { readonly feed?: TextFeed; readonly rawQuote?: string } = {},
): Reading<boolean> {
  const { feed = writer.feed, rawQuote } = options
  const reader = jsonReader(feed, {
    out: (text) => writer.arguments(text),
    strict: false,
    ...(rawQuote !== undefined && { rawQuote }),
  })
  const whole = yield* readObject(reader, declaredArguments(tool))
  if (!whole && !feed.truncated && reader.closable) {
    writer.arguments(
      reader.closers
        .reverse()
        .map((closer) => (closer === '}' ? '}' : ']'))
        .join(''),
    )
  }
  return whole
}
