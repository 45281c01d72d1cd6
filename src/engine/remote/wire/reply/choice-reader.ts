import { randomHex } from '../../../../base/random-hex.ts'
import { AppError } from '../../../../contract/errors.ts'
import type { EngineEvent, FinishReason, GeneratedToken, GenerationEvent } from '../../../../contract/event.ts'
import { field } from '../../../../contract/field.ts'
import { isTruncated } from '../../../../contract/is-truncated.ts'
import type { OutputFormat } from '../../../../contract/output-format.ts'
import type { FunctionTool } from '../../../../contract/request.ts'
import { AnswerStops } from '../../../../model-text/parse/answer-stops.ts'
import { createOutputParser, type OutputParser } from '../../../../model-text/parse/output-parser.ts'
import { TokenTally } from '../../../shared/token-tally.ts'
import type { SentRequest } from '../../servers/check-upstream.ts'
import { findsStops, type Profile } from '../../servers/profile.ts'
import { UpstreamError } from '../../transport/upstream-error.ts'
import type { WireChoice } from '../../transport/wire-chunk.ts'
import type { CallSoFar } from '../body/request-body.ts'
import { wantedTop } from '../body/sampling-fields.ts'
import { CallStream } from './call-stream.ts'
import { type ChunkCount, OutputLimit } from './output-limit.ts'
import { readLogprobs } from './read-logprobs.ts'
import { RepeatedCalls } from './repeated-calls.ts'
import { thoughtParser } from './thought-parser.ts'

/** The bounds of one choice. */
const maxLength = 96 * 1024 * 1024
const maxAnnotations = 10_000

type ChoiceContext = {
  /** Its number in the reply to the client. */
  readonly choice: number
  readonly request: SentRequest
  /** The declared tools, and those that may be called. */
  readonly declared: readonly FunctionTool[]
  readonly tools: readonly FunctionTool[]
  /** Called for each piece of output; `text` and `thought`, if another server could continue them. */
  onPiece(text: string | undefined, thought?: string): void
}

type Finish = ReadFinish & { readonly stopSequence?: string }

export class ChoiceReader {
  readonly #context: ChoiceContext
  readonly #choice: number
  /** Created with the first piece of a call. */
  #calls: CallStream | undefined
  #stops: AnswerStops | undefined
  readonly #tally: TokenTally<GeneratedToken> | undefined
  readonly #limit: OutputLimit | undefined
  /** Parses reasoning for calls in it. Absent: reasoning is passed on. */
  readonly #thoughts: OutputParser | undefined
  /** Reads the rest of a reply that broke off in a thought, or in a call. */
  #rest: OutputParser | undefined
  #repeated: RepeatedCalls | undefined
  #inReasoning = false
  #inRefusal = false
  #isThoughtLeft = false
  /** The first half of a surrogate pair whose second half is in the next chunk: some servers cut between them. */
  #half = ''
  #finish: Finish | undefined
  /** A stop sequence came: the rest of this choice is ignored. */
  #isStopped = false
  #length = 0
  #annotations = 0
  #hasText = false
  #hasTokens = false
  /** Whether anything of this choice has arrived. */
  isSeen = false

  constructor(context: ChoiceContext) {
    this.#context = context
    this.#choice = context.choice
    const { stop, turnEnds = [], logprobs, maxOutputTokens, outputFormat } = context.request
    // Even if the server searches for them: it may drop the field, and a reply that is continued elsewhere may have one across the break.
    const stopsHere = stop.length > 0 || turnEnds.length > 0 || (outputFormat?.turnEnds ?? []).length > 0
    this.#stops = stopsHere ? new AnswerStops(stop, outputFormat, turnEnds) : undefined
    this.#tally = stopsHere && logprobs !== undefined ? new TokenTally<GeneratedToken>() : undefined
    this.#thoughts = thoughtParser(context.request)
    this.#limit = maxOutputTokens === undefined ? undefined : new OutputLimit(maxOutputTokens)
  }

  /** It was ended here, by a stop sequence or the output limit: nothing more is wanted from the server. */
  get isCut(): boolean {
    return this.#isStopped || this.isLimited
  }

  /** The output limit ended it, although the server continued. */
  get isLimited(): boolean {
    return this.#limit?.isOver === true
  }

  /** It reported its end, or was ended here. */
  get isEnded(): boolean {
    return this.#isStopped || this.#finish !== undefined || this.#limit?.isReached === true
  }

  /** The rest comes from another server, which starts a divided character anew. */
  resume(): void {
    this.#half = ''
  }

  /** The calls so far; undefined if the last one cannot be continued. */
  get callsSoFar(): readonly CallSoFar[] | undefined {
    return this.#calls === undefined ? [] : this.#calls.soFar
  }

  /** The rest comes as the model writes it, from inside of a call. False if `written`, its text up to there, is not read as the calls so far. */
  readsCallOn(format: OutputFormat, written: string, profile: Profile): boolean {
    const repeated = new RepeatedCalls(this.callsSoFar ?? [])
    this.#calls = undefined
    this.readsThoughtOn(format)
    const isSame = repeated.skip(this.#readText(written, profile, []))
    this.#repeated = repeated
    return isSame
  }

  /** The rest comes as the model writes it, in this format, from inside of the thought so far. */
  readsThoughtOn(format: OutputFormat): void {
    const { request, declared } = this.#context
    const { stop, prompt, toolChoice, parallelToolCalls, output } = request
    const otherTools = prompt.type === 'chat' ? prompt.otherTools : undefined
    this.#rest = createOutputParser({ format, tools: declared, otherTools, toolChoice, parallelToolCalls, output })
    if (this.#stops !== undefined) this.#stops = new AnswerStops(stop, format, request.turnEnds)
  }

  /** The events of one chunk. `count`: the server's running count. */
  read(wire: WireChoice, profile: Profile, count: ChunkCount | undefined): readonly EngineEvent[] {
    if (this.isCut) return []
    this.isSeen = true
    const output = this.#limit === undefined ? wire : this.#limit.push(wire, count)
    const events = output === undefined ? [] : this.#readOutput(output, profile)
    if (wire.finishReason !== undefined && !this.#isStopped) {
      const stopSequence = typeof wire.stop === 'string' && this.#context.request.stop.includes(wire.stop) ? wire.stop : undefined
      const finish = readFinishReason(wire.finishReason)
      this.#finish = stopSequence === undefined ? finish : { stopSequence, ...finish }
    }
    return events
  }

  /** The last events. Throws for a choice without a finish reason. `isWithinLimit`: the server's count is. */
  end(profile: Profile, isWithinLimit: boolean): readonly EngineEvent[] {
    const isWithin = isWithinLimit || this.#finish?.reason === 'length'
    const late = this.#limit?.release(isWithin).flatMap((wire) => this.#readOutput(wire, profile)) ?? []
    const finish = this.isLimited && !this.#isStopped ? limitReached : this.#finish
    if (finish === undefined) {
      throw new AppError('upstream-failed', 'the server behind this model ended its answer without saying how it finished')
    }
    if (this.#context.request.logprobs !== undefined && this.#hasText && !this.#hasTokens) throw withoutLogprobs()
    const events: EngineEvent[] = this.#rest === undefined ? [...late, ...this.#closeBlock()] : [...late]
    if (!this.#isStopped) {
      const held = (this.#stops?.end() ?? '') + this.#half
      const tokens = (finish.stopSequence === undefined ? this.#tally?.end() : this.#tally?.cut()) ?? []
      if (held !== '' || tokens.length > 0) events.push(...this.#rawText(held, tokens))
    }
    if (this.#rest !== undefined) {
      events.push(...this.#readRest(this.#rest.end(this.#choice, isTruncated(finish))), ...this.#closeBlock())
    }
    if (this.#calls !== undefined) events.push(...this.#calls.end(isTruncated(finish)))
    const parsed = (this.#thoughts?.calls(this.#choice) ?? 0) + (this.#rest?.calls(this.#choice) ?? 0)
    const calls = (this.#calls?.calls ?? 0) + parsed
    return [...events, { type: 'finish', choice: this.#choice, ...matchCalls(finish, calls) }]
  }

  /** The server separates the thought that the prompt has begun: its text is the answer. */
  #leaveThought(): void {
    const { outputFormat: format, stop, turnEnds } = this.#context.request
    if (this.#isThoughtLeft || this.#stops === undefined || format?.startsInReasoning !== true) return
    this.#isThoughtLeft = true
    this.#stops = new AnswerStops(stop, { ...format, startsInReasoning: false }, turnEnds)
  }

  #readOutput(wire: WireChoice, profile: Profile): readonly EngineEvent[] {
    const choice = this.#choice
    const { onPiece } = this.#context
    this.#count(wire)
    const events: EngineEvent[] = []
    let tokens = this.#readTokens(wire, profile)
    /** Each token is emitted once, on the first event of the chunk. */
    const take = () => {
      const taken = tokens
      tokens = []
      return taken
    }
    if (wire.endsCalls === true) events.push(...(this.#calls?.end(false) ?? []))
    this.#hasText ||= wire.text !== ''
    this.#hasTokens ||= tokens.length > 0
    if (wire.reasoning !== '') {
      this.#leaveThought()
      onPiece(this.#thoughts === undefined && this.#calls === undefined ? '' : undefined, wire.reasoning)
      if (!this.#inReasoning) events.push(...this.#closeBlock())
      events.push(...this.#readReasoning(wire.reasoning, take()))
    }
    if (wire.opaque !== undefined) events.push(...this.#endReasoning(wire.opaque))
    if (wire.text !== '' || (tokens.length > 0 && wire.refusal === '' && wire.calls.length === 0)) {
      if (wire.text !== '' && this.#rest === undefined) events.push(...this.#closeBlock())
      const text = this.#joinHalves(wire.text)
      onPiece(this.#calls === undefined || text.trim() === '' ? text : undefined)
      events.push(...this.#readText(text, profile, take()))
    }
    if (wire.refusal !== '' && !this.#isStopped) {
      onPiece(undefined)
      if (!this.#inRefusal) events.push(...this.#closeBlock(), { type: 'refusal-start', choice })
      this.#inRefusal = true
      events.push({ type: 'refusal-delta', choice, delta: wire.refusal, ...withTokens(take()) })
    }
    for (const annotation of this.#isStopped ? [] : wire.annotations) events.push({ type: 'annotation', choice, annotation })
    for (const call of this.#isStopped ? [] : wire.calls) {
      onPiece('')
      events.push(...this.#closeBlock(), ...this.#callStream().push(call, take()))
    }
    return events
  }

  #readReasoning(delta: string, tokens: readonly GeneratedToken[]): readonly EngineEvent[] {
    const choice = this.#choice
    const isFirst = !this.#inReasoning
    this.#inReasoning = true
    this.#stops?.reasoningCame()
    if (this.#thoughts !== undefined) return this.#thoughts.push({ type: 'raw-text', choice, text: delta, ...withTokens(tokens) })
    const event: EngineEvent = { type: 'reasoning-delta', choice, delta, ...withTokens(tokens) }
    return isFirst ? [{ type: 'reasoning-start', choice }, event] : [event]
  }

  /** A server may sign a block without showing it. */
  #endReasoning(opaque: string): readonly EngineEvent[] {
    const choice = this.#choice
    this.#context.onPiece(undefined)
    const start: readonly EngineEvent[] = this.#inReasoning ? [] : [...this.#closeBlock(), { type: 'reasoning-start', choice }]
    this.#inReasoning = false
    return [...start, { type: 'reasoning-end', choice, opaque }]
  }

  #count({ text, reasoning, opaque = '', refusal, annotations }: WireChoice): void {
    this.#length += text.length + reasoning.length + opaque.length + refusal.length
    this.#annotations += annotations.length
    if (this.#length <= maxLength && this.#annotations <= maxAnnotations) return
    const message = `the server behind this model sent more than ${maxLength} characters, or ${maxAnnotations} annotations, in one reply`
    throw new UpstreamError({ type: 'excess' }, message)
  }

  #readText(text: string, profile: Profile, tokens: readonly GeneratedToken[]): readonly EngineEvent[] {
    const [stops, tally] = [this.#stops, this.#tally]
    if (text === '' && tokens.length === 0) return []
    if (stops === undefined) return this.#rawText(text, tokens)
    const pushed = stops.push(text)
    const isHere = findsStops(this.#context.request, profile)
    for (const [index, token] of tokens.entries()) {
      // A server that searches for stop sequences itself reports tokens before their text; the others report them together.
      const isLast = index === tokens.length - 1
      tally?.add(token, isHere ? (isLast ? text.length : 0) : token.text.length)
    }
    const sent = tally?.send(pushed.text.length) ?? []
    if (pushed.stopSequence === undefined) return pushed.text === '' && sent.length === 0 ? [] : this.#rawText(pushed.text, sent)
    this.#isStopped = true
    const isOwn = this.#context.request.stop.includes(pushed.stopSequence)
    this.#finish = { reason: 'stop', ...(isOwn && { stopSequence: pushed.stopSequence }) }
    const all = [...sent, ...(tally?.cut() ?? [])]
    return pushed.text === '' && all.length === 0 ? [] : this.#rawText(pushed.text, all)
  }

  #callStream(): CallStream {
    const { request, declared, tools } = this.#context
    const { prompt, toolChoice } = request
    const takesOthers = prompt.type === 'chat' && prompt.otherTools !== undefined
    this.#calls ??= new CallStream(this.#choice, {
      tools,
      declared,
      others: toolChoice.type === 'required' ? 'dropped' : takesOthers ? 'calls' : 'text',
      parallel: request.parallelToolCalls,
      makeCallId: () => `call_${randomHex().slice(0, 24)}`,
    })
    return this.#calls
  }

  #readTokens(wire: WireChoice, profile: Profile): readonly GeneratedToken[] {
    const wanted = this.#context.request.logprobs
    if (wanted === undefined) return []
    const top = wantedTop(wanted, profile)
    const { logprobs, text, tokenId } = wire
    const read = readLogprobs(logprobs, { text, id: tokenId })
    return (
      (endsSilently(wire) ? read.slice(0, -1) : read)
        // A control token that the server does not show, such as the end of the turn.
        .filter(({ bytes }) => bytes.length > 0)
        .map((token) => (token.top.length > top ? { ...token, top: token.top.slice(0, top) } : token))
    )
  }

  #joinHalves(piece: string): string {
    const text = this.#half + piece
    const last = text.charCodeAt(text.length - 1)
    const isHalf = last >= 0xd800 && last <= 0xdbff
    this.#half = isHalf ? text.slice(-1) : ''
    return isHalf ? text.slice(0, -1) : text
  }

  #closeBlock(): readonly EngineEvent[] {
    const choice = this.#choice
    if (this.#inReasoning) {
      this.#inReasoning = false
      return this.#thoughts?.interrupt(choice) ?? [{ type: 'reasoning-end', choice }]
    }
    if (!this.#inRefusal) return []
    this.#inRefusal = false
    return [{ type: 'refusal-end', choice }]
  }

  #rawText(text: string, tokens: readonly GeneratedToken[]): readonly EngineEvent[] {
    const event = { type: 'raw-text', choice: this.#choice, text, ...withTokens(tokens) } as const
    return this.#rest === undefined ? [event] : this.#readRest(this.#rest.push(event))
  }

  #readRest(events: readonly GenerationEvent[]): readonly EngineEvent[] {
    if (this.#repeated === undefined) return this.#afterThought(events)
    const rest = this.#repeated.rest(events)
    if (rest !== undefined) return rest
    throw new AppError('upstream-failed', 'the server behind this model broke off in a call, and continued it in another way')
  }

  /** A thought that a parser reads at the beginning of the rest is one with what came before. */
  #afterThought(events: readonly GenerationEvent[]): readonly EngineEvent[] {
    const [first, ...others] = events as readonly EngineEvent[]
    if (first === undefined || !this.#inReasoning) return events as readonly EngineEvent[]
    this.#inReasoning = false
    return first.type === 'reasoning-start' ? others : [{ type: 'reasoning-end', choice: this.#choice }, first, ...others]
  }
}

/** The last token of its last chunk ends the turn: the text does not have it. */
function endsSilently({ finishReason, stop, text, reasoning, refusal, calls }: WireChoice): boolean {
  if (finishReason === undefined || readFinishReason(finishReason).reason === 'length' || typeof stop === 'string') return false
  return text === '' && reasoning === '' && refusal === '' && calls.length === 0
}

const limitReached: Finish = { reason: 'length' }

function withoutLogprobs(): AppError {
  const message = `the server behind this model sent no log-probabilities, although it was asked for them: leave ${field('logprobs')} out`
  return new AppError('upstream-failed', message, { at: ['logprobs'] })
}

/** Aligns the finish reason of a server with the calls that it made. */
function matchCalls(finish: Finish, calls: number): Finish {
  if (finish.reason === 'tool-calls' && calls === 0) return { rawReason: 'tool_calls', ...finish, reason: 'stop' }
  const endsItself = finish.reason === 'stop' || finish.reason === 'end-of-message'
  return endsItself && calls > 0 ? { ...finish, reason: 'tool-calls' } : finish
}

function withTokens(tokens: readonly GeneratedToken[]): { readonly tokens?: readonly GeneratedToken[] } {
  return tokens.length > 0 ? { tokens } : {}
}

const reasons: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  eos: 'stop',
  eos_token: 'stop',
  eom: 'end-of-message',
  end_turn: 'stop',
  stop_sequence: 'stop',
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  tool_calls: 'tool-calls',
  function_call: 'tool-calls',
  tool_use: 'tool-calls',
  content_filter: 'content-filter',
  refusal: 'refusal',
  pause_turn: 'paused',
  model_context_window_exceeded: 'context-full',
}

/** Finish reasons of a reply that failed. */
const failures = new Set(['abort', 'aborted', 'error', 'cancelled', 'canceled', 'timeout', 'insufficient_system_resource'])

type ReadFinish = { readonly reason: FinishReason; readonly rawReason?: string }

/** The finish reason of a choice; an unknown word is kept as `rawReason`. Throws `upstream-failed` for one that reports a failure. */
function readFinishReason(word: string): ReadFinish {
  const reason = Object.hasOwn(reasons, word) ? reasons[word] : undefined
  if (reason !== undefined) return { reason }
  if (failures.has(word)) {
    throw new AppError('upstream-failed', `the server behind this model broke the answer off: its finish reason is '${word}'`)
  }
  return { reason: 'stop', rawReason: word }
}
