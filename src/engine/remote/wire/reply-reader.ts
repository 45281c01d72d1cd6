import { randomUUID } from 'node:crypto'
import { callableTools } from '../../../contract/callable-tools.ts'
import { AppError } from '../../../contract/errors.ts'
import type { EngineEvent, GeneratedToken, Usage } from '../../../contract/event.ts'
import { isTruncated } from '../../../contract/is-truncated.ts'
import type { FunctionTool, GenerationRequest } from '../../../contract/request.ts'
import { StopSequences } from '../../../model-text/parse/stop-sequences.ts'
import { TokenTally } from '../../token-tally.ts'
import type { Profile } from '../servers/profiles.ts'
import { readChunk, type WireChoice, type WireChunk } from '../transport/wire-reply.ts'
import { CallStream } from './call-stream.ts'
import { type ReadFinish, readFinishReason } from './finish-reasons.ts'
import { readLogprobs } from './read-logprobs.ts'

export type ReplyContext = {
  readonly request: GenerationRequest
  readonly profile: Profile
  /** How many choices this reply has, and the number of its first. */
  readonly choices: number
  readonly firstChoice: number
}

type ChoiceState = {
  /** Made with its first piece. */
  calls: CallStream | undefined
  readonly stops: StopSequences | undefined
  readonly tally: TokenTally<GeneratedToken> | undefined
  inReasoning: boolean
  inRefusal: boolean
  /** The first half of a character whose second is in the next chunk: some servers cut between the two. */
  half: string
  finish: (ReadFinish & { readonly stopSequence?: string }) | undefined
  /** A stop text came: nothing more of this choice counts. */
  cut: boolean
}

/** Reads an upstream's reply, chunk by chunk, into events. What it lets through is complete: whatever is missing is an error. */
export class ReplyReader {
  readonly #context: ReplyContext
  #profile: Profile
  readonly #tools: readonly FunctionTool[]
  readonly #choices: ChoiceState[]
  #usage: WireChunk['usage']
  #timings: WireChunk['timings']
  /** What attempts that broke off had counted. */
  #before: { readonly inputTokens: number | undefined; readonly outputTokens: number } | undefined
  #text = ''
  #canContinue: boolean
  /** Pieces of text and calls, for replies whose server counts nothing. */
  pieces = 0

  constructor(context: ReplyContext) {
    this.#context = context
    this.#profile = context.profile
    const { request, choices } = context
    this.#canContinue =
      choices === 1 && request.output.type === 'text' && (request.prompt.type === 'chat' || request.prompt.type === 'text')
    this.#tools = request.prompt.type === 'chat' ? callableTools(request.prompt.tools, request.toolChoice) : []
    this.#choices = Array.from({ length: choices }, () => {
      // Also where the server looks for them: what goes on elsewhere may have one across the break.
      const stopsHere = request.stop.length > 0
      return {
        calls: undefined,
        stops: stopsHere ? new StopSequences(request.stop) : undefined,
        tally: stopsHere && request.logprobs !== undefined ? new TokenTally<GeneratedToken>() : undefined,
        inReasoning: false,
        inRefusal: false,
        half: '',
        finish: undefined,
        cut: false,
      }
    })
  }

  /** Every choice was ended by a stop text: nothing more is wanted from the server. */
  get isCut(): boolean {
    return this.#choices.every(({ cut }) => cut)
  }

  /** Whether something was generated, so that another server cannot begin anew. */
  get hasBegun(): boolean {
    return this.pieces > 0 || this.#before !== undefined
  }

  /** Whether another server goes on with what one has begun. */
  get isResumed(): boolean {
    return this.#before !== undefined
  }

  /** The answer so far, where it is nothing but text, so that another server can go on with it. */
  get continuable(): string | undefined {
    return this.#canContinue && !this.isFinished ? this.#text : undefined
  }

  /** Tokens that were generated so far, as far as that is known. */
  get outputTokens(): number {
    return this.#readUsage()?.outputTokens ?? (this.#before?.outputTokens ?? 0) + this.pieces
  }

  /** The reply broke off, and another server goes on with it: what it counts is added to what was counted. */
  resume(profile: Profile): void {
    this.#profile = profile
    // It begins the character anew.
    for (const state of this.#choices) state.half = ''
    const inputTokens = this.#readUsage()?.inputTokens ?? this.#before?.inputTokens
    this.#before = { inputTokens, outputTokens: this.outputTokens }
    this.#usage = undefined
    this.#timings = undefined
    this.pieces = 0
  }

  /** The events of one chunk, or of a whole reply. Throws what the server reports, and for what is no chunk. */
  read(value: unknown): readonly EngineEvent[] {
    const chunk = readChunk(value, this.#profile.stopField)
    this.#usage = chunk.usage ?? this.#usage
    this.#timings = chunk.timings ?? this.#timings
    const [first, ...others] = chunk.choices
    if (first === undefined) return []
    const events = this.#readChoice(first)
    return others.length === 0 ? events : [...events, ...others.flatMap((choice) => this.#readChoice(choice))]
  }

  /**
   * The last events: every choice has said how it ended, or the reply was cut off, which throws. `count` is asked for the
   * tokens of a reply whose server counted none.
   */
  async end(count: () => Promise<Usage>): Promise<readonly EngineEvent[]> {
    const events = this.#choices.flatMap((state, index) => this.#endChoice(state, index))
    return [...events, { type: 'usage', usage: this.#readUsage() ?? this.#withBefore(await count()), timings: {} }]
  }

  /** Whether every choice has said how it ended. */
  get isFinished(): boolean {
    return this.#choices.every(({ finish, cut }) => cut || finish !== undefined)
  }

  #readChoice(wire: WireChoice): readonly EngineEvent[] {
    const state = this.#choices[wire.index]
    if (state === undefined || state.cut) return []
    const choice = this.#context.firstChoice + wire.index
    const events: EngineEvent[] = []
    let tokens = this.#readTokens(wire)
    /** Each token leaves once, on the first event that there is. */
    const take = () => {
      const taken = tokens
      tokens = []
      return taken
    }
    if (wire.reasoning !== '' || wire.refusal !== '' || wire.calls.length > 0) this.#canContinue = false
    if (wire.reasoning !== '') {
      this.pieces += 1
      if (!state.inReasoning) events.push(...closeBlock(state, choice), { type: 'reasoning-start', choice })
      state.inReasoning = true
      events.push({ type: 'reasoning-delta', choice, delta: wire.reasoning, ...withTokens(take()) })
    }
    if (wire.text !== '' || (tokens.length > 0 && wire.refusal === '' && wire.calls.length === 0)) {
      this.pieces += 1
      if (wire.text !== '') events.push(...closeBlock(state, choice))
      events.push(...this.#readText(state, choice, wire.text, take()))
    }
    if (wire.refusal !== '' && !state.cut) {
      this.pieces += 1
      if (!state.inRefusal) events.push(...closeBlock(state, choice), { type: 'refusal-start', choice })
      state.inRefusal = true
      events.push({ type: 'refusal-delta', choice, delta: wire.refusal, ...withTokens(take()) })
    }
    for (const annotation of state.cut ? [] : wire.annotations) events.push({ type: 'annotation', choice, annotation })
    for (const call of state.cut ? [] : wire.calls) {
      this.pieces += 1
      events.push(...closeBlock(state, choice), ...this.#callsOf(state, choice).push(call, take()))
    }
    if (wire.finishReason !== undefined && !state.cut) {
      const stopSequence = typeof wire.stop === 'string' && this.#context.request.stop.includes(wire.stop) ? wire.stop : undefined
      const finish = readFinishReason(wire.finishReason)
      state.finish = stopSequence === undefined ? finish : { stopSequence, ...finish }
    }
    return events
  }

  #readText(state: ChoiceState, choice: number, piece: string, tokens: readonly GeneratedToken[]): readonly EngineEvent[] {
    const { stops, tally } = state
    const text = joinHalves(state, piece)
    if (text === '' && tokens.length === 0) return []
    if (this.#canContinue) this.#text += text
    if (stops === undefined) return [rawText(choice, text, tokens)]
    const pushed = stops.push(text)
    for (const [index, token] of tokens.entries()) {
      // A server that looks for stop texts itself tells tokens before their text; the other tells them together.
      const isLast = index === tokens.length - 1
      tally?.add(token, this.#profile.stopsHere ? (isLast ? text.length : 0) : token.text.length)
    }
    const sent = tally?.send(pushed.text.length) ?? []
    if (pushed.stopSequence !== undefined) {
      state.cut = true
      state.finish = { reason: 'stop', stopSequence: pushed.stopSequence }
      sent.push(...(tally?.cut() ?? []))
    }
    return pushed.text === '' && sent.length === 0 ? [] : [rawText(choice, pushed.text, sent)]
  }

  #callsOf(state: ChoiceState, choice: number): CallStream {
    state.calls ??= new CallStream(choice, {
      tools: this.#tools,
      parallel: this.#context.request.parallelToolCalls,
      makeCallId: () => `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`,
    })
    return state.calls
  }

  #readTokens({ logprobs }: WireChoice): readonly GeneratedToken[] {
    const wanted = this.#context.request.logprobs
    if (wanted === undefined) return []
    return readLogprobs(logprobs).map((token) =>
      token.top.length > wanted.top ? { ...token, top: token.top.slice(0, wanted.top) } : token,
    )
  }

  #endChoice(state: ChoiceState, index: number): readonly EngineEvent[] {
    const choice = this.#context.firstChoice + index
    const { finish } = state
    if (finish === undefined) {
      throw new AppError('engine-failed', 'the server behind this model ended its answer without saying how it finished')
    }
    const events: EngineEvent[] = [...closeBlock(state, choice)]
    if (!state.cut) {
      const held = (state.stops?.end() ?? '') + state.half
      const tokens = (finish.stopSequence === undefined ? state.tally?.end() : state.tally?.cut()) ?? []
      if (held !== '' || tokens.length > 0) events.push(rawText(choice, held, tokens))
    }
    if (state.calls !== undefined) events.push(...state.calls.end(isTruncated(finish)))
    return [...events, { type: 'finish', choice, ...matchCalls(finish, state.calls?.calls ?? 0) }]
  }

  /** An estimate, with what was counted before the answer broke off. */
  #withBefore(estimate: Usage): Usage {
    return { ...estimate, inputTokens: this.#before?.inputTokens ?? estimate.inputTokens, outputTokens: this.outputTokens }
  }

  #readUsage(): Usage | undefined {
    const told = this.#usage ?? this.#timings
    if (told === undefined) return undefined
    const { outputTokens, cachedTokens } = told
    const before = this.#before
    // Who goes on with an answer reads what there is of it as a part of the prompt.
    const inputTokens = before?.inputTokens ?? Math.max(0, told.inputTokens - (before?.outputTokens ?? 0))
    return {
      inputTokens,
      outputTokens: outputTokens + (before?.outputTokens ?? 0),
      cachedInputTokens: Math.min(cachedTokens, inputTokens),
      reasoningTokens: this.#usage?.reasoningTokens ?? 0,
    }
  }
}

/** What a server says of calls, held against those that there are. */
function matchCalls(finish: NonNullable<ChoiceState['finish']>, calls: number): NonNullable<ChoiceState['finish']> {
  if (finish.reason === 'tool-calls' && calls === 0) return { ...finish, reason: 'stop', rawReason: 'tool_calls' }
  return finish.reason === 'stop' && calls > 0 ? { ...finish, reason: 'tool-calls' } : finish
}

function joinHalves(state: ChoiceState, piece: string): string {
  const text = state.half + piece
  const isHalf = /[\ud800-\udbff]$/.test(text)
  state.half = isHalf ? text.slice(-1) : ''
  return isHalf ? text.slice(0, -1) : text
}

function closeBlock(state: ChoiceState, choice: number): readonly EngineEvent[] {
  if (state.inReasoning) {
    state.inReasoning = false
    return [{ type: 'reasoning-end', choice }]
  }
  if (!state.inRefusal) return []
  state.inRefusal = false
  return [{ type: 'refusal-end', choice }]
}

function rawText(choice: number, text: string, tokens: readonly GeneratedToken[]): EngineEvent {
  return tokens.length > 0 ? { type: 'raw-text', choice, text, tokens } : { type: 'raw-text', choice, text }
}

function withTokens(tokens: readonly GeneratedToken[]): { readonly tokens?: readonly GeneratedToken[] } {
  return tokens.length > 0 ? { tokens } : {}
}
