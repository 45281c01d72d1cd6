import type { Facts, Message, Token, ToolCall } from './conversation.ts'

type Delta = {
  readonly content?: string | null
  readonly refusal?: string | null
  readonly reasoning_content?: string | null
  readonly tool_calls?: readonly {
    readonly index: number
    readonly id?: string
    readonly function?: { readonly name?: string; readonly arguments?: string }
  }[]
}
type WireToken = { readonly token: string; readonly logprob: number }
export type Chunk = {
  /** For a frame about a call that the server runs: it waits for an approval, runs, or has ended. */
  readonly type?: 'tool_status' | 'tool_confirm' | 'tool_start' | 'tool_end'
  readonly content?: string
  readonly tool_name?: string
  readonly tool_call_id?: string
  readonly arguments?: unknown
  readonly result?: string
  readonly is_error?: boolean
  readonly images?: readonly string[]
  readonly model?: string
  readonly error?: { readonly message?: string }
  readonly prompt_progress?: { readonly total: number; readonly processed: number; readonly cache: number }
  readonly choices?: readonly {
    readonly delta?: Delta
    readonly finish_reason?: string | null
    readonly logprobs?: {
      readonly content?: readonly (WireToken & { readonly top_logprobs?: readonly WireToken[] })[] | null
    } | null
  }[]
  readonly usage?: {
    readonly prompt_tokens: number
    readonly completion_tokens: number
    readonly prompt_tokens_details?: { readonly cached_tokens?: number }
  } | null
  readonly timings?: { readonly predicted_per_second?: number }
}

/** Folds the chunks of a stream into an answer. It has no clock: times are passed in. */
export class AnswerFold {
  readonly #before: Message
  readonly #startMs: number | undefined
  #text: string
  #reasoning: string
  #reasoningStartMs: number | undefined
  #reasoningMs: number | undefined
  #firstTokenMs: number | undefined
  #finish: string | undefined
  #problem: string | undefined
  #facts: Facts | undefined
  #pieces = 0
  readonly #calls: Pick<ToolCall, 'id' | 'name' | 'input'>[] = []
  readonly #serverCalls = new Map<string, ToolCall>()
  readonly #tokens: Token[]
  /** The share of the prompt that is read, from 0 to 1; undefined before and after. */
  reading: number | undefined

  /** The output follows that of the message. Without `startMs`, the time of the first token is unknown. */
  constructor(before: Message, startMs: number | undefined) {
    this.#before = before
    this.#startMs = startMs
    this.#finish = before.finish
    this.#problem = before.problem
    this.#facts = before.facts
    for (const call of before.calls ?? []) {
      if (call.by === 'server') this.#serverCalls.set(call.id, call)
      else this.#calls.push(call)
    }
    this.#text = before.text
    this.#reasoning = before.reasoning ?? ''
    this.#reasoningMs = before.reasoningMs
    this.#tokens = [...(before.tokens ?? [])]
  }

  get isEnded(): boolean {
    return this.#finish !== undefined || this.#problem !== undefined
  }

  get problem(): string | undefined {
    return this.#problem
  }

  /** Pieces of output so far, about as many as tokens. */
  get pieces(): number {
    return this.#pieces
  }

  push(chunk: Chunk, nowMs: number): void {
    if (chunk.tool_call_id !== undefined) this.#takeCall(chunk.tool_call_id, chunk)
    const { choices = [], usage, timings, error, prompt_progress: progress } = chunk
    if (error !== undefined) this.#problem = error.message ?? 'the server ended the answer with an error'
    if (progress !== undefined && progress.total > progress.cache) {
      this.reading = (progress.processed - progress.cache) / (progress.total - progress.cache)
    }
    const choice = choices[0]
    if (choice?.delta !== undefined) this.#take(choice.delta, nowMs)
    if (choice?.finish_reason != null) this.#finish = choice.finish_reason
    for (const { token, logprob, top_logprobs: top = [] } of choice?.logprobs?.content ?? []) {
      this.#tokens.push({ text: token, logprob, top: top.map((other) => ({ text: other.token, logprob: other.logprob })) })
    }
    if (usage == null) return
    this.#facts = {
      promptTokens: usage.prompt_tokens,
      cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
      outputTokens: usage.completion_tokens,
      ...(timings?.predicted_per_second !== undefined && { tokensPerSecond: timings.predicted_per_second }),
      ...(this.#firstTokenMs !== undefined &&
        this.#startMs !== undefined && { firstTokenMs: this.#firstTokenMs - this.#startMs }),
    }
  }

  #takeCall(id: string, { type, tool_name: name = '', arguments: given, result, is_error: isError, images }: Chunk): void {
    const { waits: _, ...before } = this.#serverCalls.get(id) ?? { id, name, input: JSON.stringify(given ?? {}), by: 'server' }
    this.#serverCalls.set(id, {
      ...before,
      ...(type === 'tool_confirm' && { waits: true }),
      ...(type === 'tool_end' && { result: images === undefined ? (result ?? '') : withoutImages(result ?? '') }),
      ...(isError === true && { isError }),
      ...(images !== undefined && { pictures: images }),
    })
  }

  #take({ content, refusal, reasoning_content: thought, tool_calls: calls = [] }: Delta, nowMs: number): void {
    const text = (content ?? '') + (refusal ?? '')
    const isOutput = text !== '' || (thought ?? '') !== '' || calls.length > 0
    if (!isOutput) return
    this.#pieces += 1
    this.#firstTokenMs ??= nowMs
    this.reading = undefined
    if (thought != null && thought !== '') {
      // A resumed one has thought before.
      this.#reasoningStartMs ??= nowMs - (this.#reasoningMs ?? 0)
      this.#reasoning += thought
      this.#reasoningMs = nowMs - this.#reasoningStartMs
    } else if (this.#reasoningStartMs !== undefined) {
      this.#reasoningMs = nowMs - this.#reasoningStartMs
      this.#reasoningStartMs = undefined
    }
    this.#text += text
    for (const { index, id, function: named } of calls) {
      const call = this.#calls[index] ?? { id: '', name: '', input: '' }
      this.#calls[index] = {
        id: id ?? call.id,
        name: call.name + (named?.name ?? ''),
        input: call.input + (named?.arguments ?? ''),
      }
    }
  }

  /** The answer so far. */
  message(state: NonNullable<Message['state']>): Message {
    const own: ToolCall[] = this.#calls.map((call) => ({ ...call, by: 'caller' }))
    const calls = [...this.#serverCalls.values(), ...own]
    return {
      ...this.#before,
      text: this.#text,
      state,
      ...(this.#reasoning !== '' && { reasoning: this.#reasoning }),
      ...(this.#reasoningMs !== undefined && { reasoningMs: this.#reasoningMs }),
      ...(calls.length > 0 && { calls }),
      ...(this.#tokens.length > 0 && { tokens: this.#tokens }),
      ...(this.#finish !== undefined && { finish: this.#finish }),
      ...(this.#facts !== undefined && { facts: this.#facts }),
      ...(this.#problem !== undefined && { problem: this.#problem }),
    }
  }
}

/** A result without the names of its pictures, which are at its end for Unsloth's page. */
function withoutImages(result: string): string {
  const at = result.lastIndexOf('\n__IMAGES__:')
  return at === -1 ? result : result.slice(0, at)
}
