import { thousandths } from '../../../../base/thousandths.ts'
import { callableTools, functionTools } from '../../../../canonical/callable-tools.ts'
import type { EngineEvent, Timings, Usage } from '../../../../contract/event.ts'
import type { OutputFormat } from '../../../../contract/output-format.ts'
import { sumDrafts } from '../../../../contract/usage.ts'
import type { SentRequest } from '../../servers/check-upstream.ts'
import type { Profile } from '../../servers/profile.ts'
import type { WireChoice, WireChunk } from '../../transport/wire-chunk.ts'
import { readChunk } from '../../transport/wire-reply.ts'
import type { ReplySoFar } from '../body/request-body.ts'
import { ChoiceReader } from './choice-reader.ts'
import { divideEcho } from './echoed-prompt.ts'
import { LeftThought, type ThoughtsCome } from './left-thought.ts'
import { MessagesReply } from './messages-reply.ts'
import type { ChunkCount } from './output-limit.ts'
import { ResponsesReply } from './responses-reply.ts'

const none: readonly number[] = []
/** The longest reply, in characters, that another server continues: it is sent to that server. */
const maxContinuable = 1024 * 1024

type ReplyContext = {
  readonly request: SentRequest
  readonly profile: Profile
  /** The number of choices in this reply, and the number of the first one. */
  readonly choices: number
  readonly firstChoice: number
}

/** Reads an upstream's reply, chunk by chunk, into events. Only complete replies pass: anything that is missing is an error. */
export class ReplyReader {
  readonly #context: ReplyContext
  #profile: Profile
  #readChunk: ChunkReader
  readonly #choices: ChoiceReader[] = []
  #usage: WireChunk['usage']
  #timings: WireChunk['timings']
  #prompt: WireChunk['prompt']
  #hasTold = false
  /** The counts of attempts that broke off. */
  #before: { readonly inputTokens: number | undefined; readonly outputTokens: number } | undefined
  #thought = ''
  #text = ''
  #canContinue: boolean
  /** The text has marks of its form, which a continued text must not have. */
  #isRaw = false
  readonly #leftThought = new LeftThought()
  /** Pieces of text and calls, for replies without counts. */
  pieces = 0

  constructor(context: ReplyContext) {
    this.#context = context
    this.#profile = context.profile
    const { request, choices } = context
    this.#readChunk = createChunkReader(context.profile, choices)
    this.#canContinue =
      choices === 1 &&
      request.output.type === 'text' &&
      // The rest would have to begin in the middle of the grammar.
      request.answer === undefined &&
      (request.prompt.type === 'chat' || request.prompt.type === 'text')
    const { tools: own, otherTools = [] } = request.prompt.type === 'chat' ? request.prompt : { tools: [] }
    const declared = [...functionTools(own), ...otherTools]
    const tools = callableTools(declared, request.toolChoice)
    const onPiece = (text: string | undefined, thought?: string) => this.#onPiece(text, thought)
    for (let index = 0; index < choices; index++) {
      this.#choices.push(new ChoiceReader({ choice: context.firstChoice + index, request, declared, tools, onPiece }))
    }
  }

  /** Every choice was ended here, by a stop text or the output limit: nothing more is wanted from the server. */
  get isCut(): boolean {
    return this.#choices.every(({ isCut }) => isCut)
  }

  /** The numbers of the choices that a server left out of a reply whose other choices are complete, because it ignores `n`. */
  get missing(): readonly number[] {
    if (this.#choices.length === 1) return none
    const untouched = this.#choices.flatMap(({ isSeen }, index) => (isSeen ? [] : [this.#context.firstChoice + index]))
    const others = this.#choices.filter(({ isSeen }) => isSeen)
    return others.length > 0 && others.every(({ isEnded }) => isEnded) ? untouched : []
  }

  /** Whether something was generated, so that another server cannot begin anew. */
  get hasBegun(): boolean {
    return this.pieces > 0 || this.#before !== undefined
  }

  /** Whether another server continues the reply. */
  get isResumed(): boolean {
    return this.#before !== undefined
  }

  /** How the thought came that the prompt may have begun, if that showed. */
  get thoughtsCome(): ThoughtsCome | undefined {
    return this.#leftThought.found
  }

  /** The reply so far, if it can be continued. */
  get continuable(): ReplySoFar | undefined {
    const calls = this.#choices[0]?.callsSoFar
    if (!this.#canContinue || this.isFinished || calls === undefined) return undefined
    return { thought: this.#thought, text: this.#text, calls }
  }

  /**
   * The rest comes as the model writes it: from inside of a call, if `written` is the text of the reply so far, or of its thought, if
   * `format` begins there. False if that text is not read as the reply so far.
   */
  readsOnAsText(format: OutputFormat | undefined, written: string | undefined): boolean {
    if (written === undefined && format?.startsInReasoning !== true) return true
    this.#isRaw = true
    return this.#choices.every((choice) => {
      if (written !== undefined) return format !== undefined && choice.readsCallOn(format, written, this.#profile)
      if (format !== undefined) choice.readsThoughtOn(format)
      return true
    })
  }

  /** The number of tokens generated so far, as far as known. */
  get outputTokens(): number {
    return this.#readUsage()?.outputTokens ?? (this.#before?.outputTokens ?? 0) + this.pieces
  }

  /** The reply broke off, and another server continues it: counts are added up from now on. */
  resume(profile: Profile): void {
    this.#profile = profile
    this.#readChunk = createChunkReader(profile, this.#choices.length)
    for (const choice of this.#choices) choice.resume()
    const inputTokens = this.#readUsage()?.inputTokens ?? this.#before?.inputTokens
    this.#before = { inputTokens, outputTokens: this.outputTokens }
    this.#usage = undefined
    this.#timings = undefined
    this.pieces = 0
  }

  /** The events of one chunk, or of a whole reply. Throws errors that the server reports, and for a value that is not a chunk. */
  read(value: unknown): readonly EngineEvent[] {
    const chunk = this.#readChunk(value)
    const before = this.#choices.length === 1 ? this.outputTokens : 0
    this.#usage = chunk.usage ?? this.#usage
    this.#timings = chunk.timings ?? this.#timings
    this.#prompt = chunk.prompt ?? this.#prompt
    if (chunk.progress !== undefined && this.#context.request.tellsProgress === true && !this.#hasTold && !this.isResumed) {
      return [{ type: 'prompt-progress', ...chunk.progress }]
    }
    const [first] = chunk.choices
    if (first === undefined) return []
    // A count of several choices does not show which of them is at its limit.
    const counts = this.#choices.length === 1 && (chunk.usage ?? chunk.timings) !== undefined
    const count = counts ? { before, after: this.outputTokens } : undefined
    const read = (choice: WireChoice) => this.#readChoice(choice, count)
    const events = chunk.choices.length === 1 ? read(first) : chunk.choices.flatMap(read)
    return this.#hasTold || events.length === 0 ? events : [...this.#promptRead(), ...events]
  }

  #readChoice(given: WireChoice, count: ChunkCount | undefined): readonly EngineEvent[] {
    const { request, firstChoice } = this.#context
    const reader = this.#choices[given.index]
    if (given.index === 0 && request.prompt.type === 'chat') this.#leftThought.push(given)
    if (request.promptTokens === undefined) return reader?.read(given, this.#profile, count) ?? []
    const { choice, promptTokens: all } = divideEcho(given, request.prompt, this.#usage?.inputTokens)
    const { top = 0 } = request.promptTokens.logprobs ?? {}
    const promptTokens = all.map((token) => ({ ...token, top: token.top.slice(0, top) }))
    const events = reader?.read(choice, this.#profile, count) ?? []
    // All choices repeat the prompt.
    return firstChoice + given.index === 0 ? [{ type: 'prompt-tokens', choice: 0, promptTokens }, ...events] : events
  }

  /** Once, before all output, if the server has reported it by then. */
  #promptRead(): readonly EngineEvent[] {
    this.#hasTold = true
    const { inputTokens = 0, cachedTokens = 0 } = this.#prompt ?? this.#usage ?? this.#timings ?? {}
    if (inputTokens === 0) return []
    return [{ type: 'prompt-read', inputTokens, cachedInputTokens: Math.min(cachedTokens, inputTokens) }]
  }

  /**
   * The last events. Throws if the reply was cut off: a choice has no finish reason. Calls `count` for the tokens of a reply without
   * counts.
   */
  end(count: () => Promise<Usage>): readonly EngineEvent[] | Promise<readonly EngineEvent[]> {
    const { missing } = this
    const isWithinLimit = this.#isWithinLimit()
    const events: EngineEvent[] = []
    for (const [index, choice] of this.#choices.entries()) {
      if (!missing.includes(this.#context.firstChoice + index)) events.push(...choice.end(this.#profile, isWithinLimit))
    }
    const complete = (usage: Usage): readonly EngineEvent[] => {
      events.push({ type: 'usage', usage: this.#clamped(usage), timings: this.#readTimings() })
      return events
    }
    const usage = this.#readUsage()
    return usage === undefined ? count().then((estimate) => complete(this.#withBefore(estimate))) : complete(usage)
  }

  /** Whether every choice has a finish reason. */
  get isFinished(): boolean {
    return this.#choices.every(({ isEnded }) => isEnded)
  }

  #onPiece(text: string | undefined, thought = ''): void {
    this.pieces += 1
    const isInOrder = thought === '' || this.#text === ''
    const length = this.#thought.length + this.#text.length + thought.length + (text?.length ?? 0)
    if (text === undefined || !isInOrder || this.#isRaw || length > maxContinuable) this.#canContinue = false
    this.#thought = this.#canContinue ? this.#thought + thought : ''
    this.#text = this.#canContinue ? this.#text + text : ''
  }

  /** The part that was dropped beyond the limit does not count. */
  #clamped(usage: Usage): Usage {
    const { maxOutputTokens } = this.#context.request
    if (maxOutputTokens === undefined || !this.#choices.every(({ isLimited }) => isLimited)) return usage
    const outputTokens = Math.min(usage.outputTokens, maxOutputTokens * this.#choices.length)
    return { ...usage, outputTokens, reasoningTokens: Math.min(usage.reasoningTokens, outputTokens) }
  }

  /** Whether the server confirms that a reply beyond our count is within the limit. */
  #isWithinLimit(): boolean {
    const { maxOutputTokens = 0 } = this.#context.request
    const counted = this.#readUsage()?.outputTokens
    return counted !== undefined && counted <= maxOutputTokens * this.#choices.length
  }

  /** An estimate, with the counts before the answer broke off. */
  #withBefore(estimate: Usage): Usage {
    return { ...estimate, inputTokens: this.#before?.inputTokens ?? estimate.inputTokens, outputTokens: this.outputTokens }
  }

  /** Not for a reply of several servers: their timings cannot be combined. */
  #readTimings(): Timings {
    const { prefillMs, decodeMs } = this.#before === undefined ? (this.#timings ?? {}) : {}
    return {
      ...(prefillMs !== undefined && { prefillMs: thousandths(prefillMs) }),
      ...(decodeMs !== undefined && { decodeMs: thousandths(decodeMs) }),
    }
  }

  #readUsage(): Usage | undefined {
    const told = this.#usage ?? this.#timings
    if (told === undefined) return undefined
    const { outputTokens, cachedTokens } = told
    const before = this.#before
    const drafts = this.#timings?.drafts
    // A server that continues an answer reads its beginning as a part of the prompt.
    const inputTokens = before?.inputTokens ?? Math.max(0, told.inputTokens - (before?.outputTokens ?? 0))
    return {
      inputTokens,
      outputTokens: outputTokens + (before?.outputTokens ?? 0),
      cachedInputTokens: Math.min(cachedTokens, inputTokens),
      reasoningTokens: this.#usage?.reasoningTokens ?? 0,
      ...(drafts !== undefined && { drafts: sumDrafts([{ server: drafts }]) }),
    }
  }
}

/** Reads one value of a reply after the other. Throws an error that the server reports. */
type ChunkReader = (value: unknown) => WireChunk

function createChunkReader({ protocol, stopField }: Profile, choices: number): ChunkReader {
  switch (protocol) {
    case 'chat':
    case 'completions':
      return (value) => readChunk(value, { stopField, choices })
    case 'responses': {
      const reply = new ResponsesReply()
      return (value) => reply.read(value)
    }
    case 'messages': {
      const reply = new MessagesReply()
      return (value) => reply.read(value)
    }
  }
}
