import type { FunctionTool } from '../../contract/request.ts'
import type { ChoiceSink } from '../scan/choice-sink.ts'
import { jsonReader, readObject } from '../scan/json-value.ts'
import type { Declared } from '../scan/schema-types.ts'
import type { Reading, TextFeed } from '../scan/text-feed.ts'

type WriterOptions = {
  /** The tools that may be called. */
  readonly tools: readonly FunctionTool[]
  /** False: calls after the first are read and dropped. */
  readonly parallel: boolean
  makeCallId(): string
}

/** What a call reader works with: the text, the callable tools, and the output. One for each choice. */
export class CallWriter {
  readonly feed: TextFeed
  readonly #sink: ChoiceSink
  readonly #options: WriterOptions
  readonly #tools: ReadonlyMap<string, FunctionTool>
  readonly #ids = new Set<string>()
  #deferred: { readonly tool: FunctionTool; id: string | undefined; arguments: string } | undefined
  #muted = false
  #open = false
  /** The number of calls emitted so far. */
  calls = 0
  /** A reader has found a name where a call has its name, callable or not, since this was last set to false. */
  sawName = false

  constructor(feed: TextFeed, sink: ChoiceSink, options: WriterOptions) {
    this.feed = feed
    this.#sink = sink
    this.#options = options
    this.#tools = new Map(options.tools.map((tool) => [tool.name, tool]))
  }

  /** The tools that may be called. */
  get tools(): readonly FunctionTool[] {
    return this.#options.tools
  }

  /** The tool of this name, if it may be called. */
  tool(name: string): FunctionTool | undefined {
    this.sawName = true
    return this.#tools.get(name)
  }

  /**
   * Starts a call. The text so far belongs to the call: it can no longer become text of the answer. An id that is empty, or that
   * another call has, is replaced.
   */
  open(tool: FunctionTool, id?: string): void {
    this.feed.release()
    this.#open = true
    this.#muted = this.calls > 0 && !this.#options.parallel
    if (this.#muted) return
    this.calls += 1
    const ownId = id === undefined || id === '' || this.#ids.has(id) ? this.#options.makeCallId() : id
    this.#ids.add(ownId)
    this.#sink.openCall(ownId, tool.name)
  }

  /** Like `open`, for formats that write a call's id at its end: nothing is emitted before `close`. */
  openDeferred(tool: FunctionTool, id?: string): void {
    this.feed.release()
    this.#deferred = { tool, id, arguments: '' }
  }

  /** Sets the id of a call that was opened with `openDeferred`, unless it has one. */
  set callId(id: string) {
    if (this.#deferred !== undefined) this.#deferred.id ??= id
  }

  /** A piece of the arguments, as JSON text. */
  arguments(text: string): void {
    if (this.#deferred !== undefined) this.#deferred.arguments += text
    else if (!this.#muted) this.#sink.callArguments(text)
  }

  /** Ends the open call, if any. */
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

/** Reads one call, or a block of several, after its tag. False, with no call opened, when it is not a call. */
export type CallReader = (writer: CallWriter) => Reading<boolean>

/** The schema of a tool's arguments. */
export function declaredArguments(tool: FunctionTool): Declared {
  return tool.parameters === undefined ? undefined : { schema: tool.parameters, root: tool.parameters }
}

/** Reads the arguments of the open call, an object, which is next. Brackets missing where the model stopped are added. */
export function* readArguments(
  writer: CallWriter,
  tool: FunctionTool,
  options: { readonly feed?: TextFeed; readonly rawQuote?: string } = {},
): Reading<boolean> {
  const { feed = writer.feed, rawQuote } = options
  const reader = jsonReader(feed, {
    out: (text) => writer.arguments(text),
    strict: false,
    ...(rawQuote !== undefined && { rawQuote }),
  })
  const isComplete = yield* readObject(reader, declaredArguments(tool))
  if (!isComplete && !feed.truncated && reader.closable) {
    writer.arguments(
      reader.closers
        .reverse()
        .map((closer) => (closer === '}' ? '}' : ']'))
        .join(''),
    )
  }
  return isComplete
}
