import type { GeneratedToken, GenerationEvent } from '../../contract/event.ts'
import type { ToolCallPart } from '../../contract/request.ts'
import type { JsonFence } from './json-fence.ts'

/** How the arguments of a call were read; empty if they are the model's own text. */
export type CallOutcome = Pick<ToolCallPart, 'state' | 'raw'>

type Block = { readonly type: 'text' | 'reasoning' } | { readonly type: 'call'; readonly id: string }

/** Not joined from the block's type: that would create a new string for each event, which all later comparisons read. */
const eventTypes = {
  text: { start: 'text-start', delta: 'text-delta', end: 'text-end' },
  reasoning: { start: 'reasoning-start', delta: 'reasoning-delta', end: 'reasoning-end' },
} as const

/** Makes the events of one choice: opens and closes blocks, joins adjacent text, and emits each token exactly once. */
export class ChoiceSink {
  readonly #choice: number
  readonly #fence: JsonFence | undefined
  #events: GenerationEvent[] = []
  #block: Block | undefined
  #delta = ''
  #tokens: GeneratedToken[] = []

  /** `fence` removes the Markdown fence around an answer in JSON. */
  constructor(choice: number, fence?: JsonFence) {
    this.#choice = choice
    this.#fence = fence
  }

  /** Adds tokens, which leave with the next event that carries text. */
  addTokens(tokens: readonly GeneratedToken[] | undefined): void {
    if (tokens !== undefined) for (const token of tokens) this.#tokens.push(token)
  }

  text(text: string): void {
    this.#write('text', this.#fence?.push(text) ?? text)
  }

  reasoning(text: string): void {
    this.#write('reasoning', text)
  }

  /** Starts a call; only its arguments may follow until the block is closed. */
  openCall(id: string, name: string): void {
    this.closeBlock()
    this.#events.push({ type: 'tool-call-start', choice: this.#choice, id, name, ...this.#takeTokens() })
    this.#block = { type: 'call', id }
  }

  callArguments(text: string): void {
    this.#delta += text
  }

  closeBlock(): void {
    this.#write('text', this.#fence?.end() ?? '')
    this.#close()
  }

  /** Ends the open call. */
  closeCall(outcome: CallOutcome): void {
    this.#close(outcome)
  }

  /** The events since the last `take()`. */
  take(): readonly GenerationEvent[] {
    this.#flush()
    const events = this.#events
    this.#events = []
    return events
  }

  /** Ends everything. Tokens left without text leave on an empty delta. */
  end(): readonly GenerationEvent[] {
    this.#write('text', this.#fence?.end() ?? '')
    this.#flush()
    if (this.#tokens.length > 0) {
      if (this.#block === undefined) this.#open('text')
      this.#emitDelta('')
    }
    this.closeBlock()
    return this.take()
  }

  #write(type: 'text' | 'reasoning', text: string): void {
    if (text === '') return
    if (this.#block?.type !== type) {
      if (type === 'text') this.#close()
      else this.closeBlock()
      this.#open(type)
    }
    this.#delta += text
  }

  #close(outcome: CallOutcome = {}): void {
    this.#flush()
    const block = this.#block
    if (block === undefined) return
    this.#block = undefined
    const choice = this.#choice
    this.#events.push(
      block.type === 'call'
        ? { type: 'tool-call-end', choice, id: block.id, ...outcome }
        : { type: eventTypes[block.type].end, choice },
    )
  }

  #open(type: 'text' | 'reasoning'): void {
    this.#block = { type }
    this.#events.push({ type: eventTypes[type].start, choice: this.#choice })
  }

  #flush(): void {
    if (this.#delta === '') return
    const delta = this.#delta
    this.#delta = ''
    this.#emitDelta(delta)
  }

  #emitDelta(delta: string): void {
    const block = this.#block
    if (block === undefined) return
    const choice = this.#choice
    const event: GenerationEvent =
      block.type === 'call'
        ? { type: 'tool-call-delta', choice, id: block.id, delta }
        : { type: eventTypes[block.type].delta, choice, delta }
    this.#events.push(this.#tokens.length === 0 ? event : { ...event, ...this.#takeTokens() })
  }

  #takeTokens(): { readonly tokens?: readonly GeneratedToken[] } {
    if (this.#tokens.length === 0) return {}
    const tokens = this.#tokens
    this.#tokens = []
    return { tokens }
  }
}
