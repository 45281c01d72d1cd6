import type { FunctionTool } from '../../contract/request.ts'
import type { CallOutcome, ChoiceSink } from '../scan/choice-sink.ts'
import type { Declared } from '../scan/schema-types.ts'
import { maxHeldChars, type Reading, type TextFeed } from '../scan/text-feed.ts'
import { findTool, undeclaredName } from './find-tool.ts'

/** The part of a request that readers of calls need. */
export type WriterOptions = {
  /** The tools that may be called. */
  readonly tools: readonly FunctionTool[]
  readonly declared: readonly FunctionTool[]
  /** Calls of the other declared tools are read and dropped; otherwise they are text. */
  readonly dropsOthers: boolean
  /** Which calls of tools that may not be called, or are undeclared, are read as calls; `tagged`: those after a tag of the format. */
  readonly others: 'none' | 'tagged' | 'all'
  /** False: calls after the first are read and dropped. */
  readonly parallel: boolean
  makeCallId(): string
}

type CallState = NonNullable<CallOutcome['state']>

type OpenCall = {
  readonly tool: FunctionTool
  id: string | undefined
  /** Not emitted: only one call is allowed and this is another, or its tool may not be called. */
  muted: boolean
  /** Arguments of a call that is emitted once its id is known. */
  deferred: string | undefined
  state: CallState | undefined
  raw: string | undefined
}

/** Output that is held until its calls are certain to be calls. */
type Attempt = { readonly steps: (() => void)[]; readonly calls: number; readonly ids: string[] }

/** The text, the callable tools and the output, for a call reader. One for each choice. */
export class CallWriter {
  readonly feed: TextFeed
  readonly #sink: ChoiceSink
  readonly #options: WriterOptions
  readonly #ids = new Set<string>()
  #call: OpenCall | undefined
  /** The source of the arguments, and the position up to which they were written. */
  #source: TextFeed
  #writtenTo = 0
  #written = ''
  #attempt: Attempt | undefined
  calls = 0
  /** All calls of the last attempt may be made. */
  allAreCallable = true
  /** The text being read began with a tag that can hardly be anything else. */
  isTagged = false
  /** A reader has read calls of a block, but not the block's end. */
  blockIsOpen = false
  /** A reader has found the name of a tool that may be called. */
  named = false
  /** Receives the text between calls. */
  onText: (text: string) => void = ignoreText
  #skipped = ''

  constructor(feed: TextFeed, sink: ChoiceSink, options: WriterOptions) {
    this.feed = feed
    this.#source = feed
    this.#sink = sink
    this.#options = options
  }

  /** The tool that this name means, if its calls are read. In an attempt, calls of all other tools are read as well. */
  tool(name: string): FunctionTool | undefined {
    const { declared, dropsOthers, others } = this.#options
    const readsOthers = others === 'all' || (others === 'tagged' && this.isTagged)
    const tool = findTool(declared, name)
    if (tool !== undefined && (dropsOthers || readsOthers || this.#isCallable(tool))) {
      this.named = true
      return tool
    }
    const other = { name: undeclaredName(name) }
    if (!/^[\p{L}\p{N}_.:/-]+$/u.test(other.name)) return undefined
    if (readsOthers) {
      this.named = true
      return other
    }
    if (this.#attempt === undefined) return undefined
    this.allAreCallable = false
    this.feed.limitAttempt()
    return other
  }

  /** Whether the tool is undeclared, so that only its name is known. */
  isUndeclared(tool: FunctionTool): boolean {
    return !this.#options.declared.includes(tool)
  }

  /** A call that the model only began is not made. In an attempt it is read, so that reasoning ends in front of it. */
  unfinished(): boolean {
    this.allAreCallable = false
    return this.#attempt !== undefined
  }

  /** Text in a list in place of a call stays text, if the list has calls at all. */
  skip(text: string): void {
    this.#skipped += text
  }

  /** Emits the skipped text, or forgets it. */
  endList(hasCalls: boolean): void {
    const text = this.#skipped
    this.#skipped = ''
    if (hasCalls && text !== '') this.#emit(() => this.onText(text))
  }

  /** The tools that may be called. */
  get tools(): readonly FunctionTool[] {
    return this.#options.tools
  }

  /**
   * Starts a call, whose arguments follow. The text so far belongs to the call: it can no longer become text of the answer. An empty id, or
   * one that another call has, is replaced.
   */
  open(tool: FunctionTool, id?: string): void {
    this.#begin(tool, id, undefined)
    this.#start()
  }

  /** Like `open`, for formats that write a call's id at its end: nothing is emitted before `close`. */
  openDeferred(tool: FunctionTool, id?: string): void {
    this.#begin(tool, id, '')
  }

  /** Sets the id of a call that was opened with `openDeferred`, unless it has one. */
  set callId(id: string) {
    if (this.#call?.deferred !== undefined) this.#call.id ??= id
  }

  /** Reads the arguments of the open call from here instead of the choice's text. */
  readFrom(source: TextFeed): void {
    this.#source = source
    source.record()
    this.#writtenTo = source.position
  }

  /** A piece of the arguments, as JSON text: everything read so far. */
  arguments(text: string): void {
    this.#writtenTo = this.#source.position
    this.#write(text)
  }

  /** The arguments are not the model's text, but its certain meaning. */
  repaired(): void {
    if (this.#call !== undefined) this.#call.state ??= 'repaired'
  }

  /** As `repaired`, with the model's text. */
  repairedFrom(raw: string): void {
    this.repaired()
    if (this.#call !== undefined) this.#call.raw = raw
  }

  /** The arguments cannot be read: the unwritten part is passed on unchanged. */
  unparseable(): void {
    if (this.#call !== undefined) this.#call.state = 'unparseable'
    this.passOn()
  }

  /** The arguments are not an object, but this text. */
  unparseableFrom(raw: string): void {
    if (this.#call !== undefined) Object.assign(this.#call, { state: 'unparseable', raw })
    this.#write(raw)
  }

  /** Passes on unchanged what was read but not written. */
  passOn(): void {
    this.arguments(this.#source.recorded(this.#writtenTo))
  }

  /** The arguments end here, and the markup of the call follows. */
  endArguments(): void {
    const call = this.#call
    if (call === undefined) return
    if (call.state !== undefined) call.raw ??= this.#source.recorded()
    this.#source.stopRecord()
  }

  /** Ends the open call, if any. */
  close(): void {
    const call = this.#call
    if (call === undefined) return
    this.endArguments()
    if (call.deferred !== undefined) {
      const written = call.deferred
      call.deferred = undefined
      this.#start()
      this.#write(written)
    }
    this.#call = undefined
    this.#source = this.feed
    if (call.muted) return
    const { state, raw } = call
    const isOther = raw !== undefined && raw !== this.#written
    this.#emit(() => this.#sink.closeCall({ ...(state !== undefined && { state }), ...(isOther && { raw }) }))
  }

  /** Holds the following calls until `commit` or `giveUp`. Calls that exceed the limit of held text are committed. */
  attempt(): void {
    this.feed.attempt()
    this.allAreCallable = true
    this.#attempt = { steps: [], calls: this.calls, ids: [] }
  }

  /** Emits the held calls, unless they already were. */
  commit(): void {
    const attempt = this.#attempt
    if (attempt === undefined) return
    this.#attempt = undefined
    this.feed.commit()
    for (const step of attempt.steps) step()
  }

  /** Forgets the held calls, and returns to where they began. Returns their length; undefined if they were committed. */
  giveUp(): number | undefined {
    const attempt = this.#attempt
    if (attempt === undefined) return undefined
    this.#attempt = undefined
    this.#call = undefined
    this.#source = this.feed
    this.calls = attempt.calls
    for (const id of attempt.ids) this.#ids.delete(id)
    return this.feed.giveUp()
  }

  #isCallable(tool: FunctionTool): boolean {
    return this.#options.tools.includes(tool)
  }

  #begin(tool: FunctionTool, id: string | undefined, deferred: string | undefined): void {
    this.feed.release()
    this.#call = { tool, id, muted: false, deferred, state: undefined, raw: undefined }
    this.#written = ''
    this.readFrom(this.feed)
  }

  #start(): void {
    const call = this.#call
    if (call === undefined) return
    const { parallel, dropsOthers } = this.#options
    call.muted = (this.calls > 0 && !parallel) || (dropsOthers && !this.#isCallable(call.tool))
    if (call.muted) return
    this.endList(true)
    this.calls += 1
    const { id } = call
    const ownId = id === undefined || id === '' || this.#ids.has(id) ? this.#options.makeCallId() : id
    this.#ids.add(ownId)
    this.#attempt?.ids.push(ownId)
    this.#emit(() => this.#sink.openCall(ownId, call.tool.name))
  }

  #write(text: string): void {
    const call = this.#call
    if (call === undefined || call.muted || text === '') return
    if (call.deferred !== undefined) {
      call.deferred += text
      return
    }
    this.#written += text
    this.#emit(() => this.#sink.callArguments(text))
  }

  #emit(step: () => void): void {
    if (this.#attempt === undefined) {
      step()
      return
    }
    this.#attempt.steps.push(step)
    if (this.allAreCallable && this.feed.attemptedChars > maxHeldChars) this.commit()
  }
}

function ignoreText(): void {
  // This format has no lists.
}

/** Reads one call, or a block of several, after its tag. False, with no call opened, when it is not a call. */
export type CallReader = (writer: CallWriter) => Reading<boolean>

export function declaredArguments(tool: FunctionTool): Declared {
  return tool.parameters === undefined ? undefined : { schema: tool.parameters, root: tool.parameters }
}
