import type { OutputFormat } from '../../contract/output-format.ts'
import { answerBegins, type MessageSyntax } from '../formats/tool-format.ts'
import { findToolFormat } from '../formats/tool-formats.ts'
import { isSpace } from '../scan/text-feed.ts'
import { type ReasoningTags, readReasoningTags } from './reasoning-tags.ts'
import { search } from './search.ts'
import { StopSequences, type StopStep } from './stop-sequences.ts'

/** A part of the text: of the answer, or reasoning, a header, or the white space after one of them. */
type Span = { readonly text: string; readonly isAnswer: boolean }

/** Divides text that arrives in pieces. Text that may become a tag is held. */
type Divider = {
  push(text: string): readonly Span[]
  /** The held text, at the end. */
  end(): readonly Span[]
  reasoningCame(): void
}

/** Stop sequences that end an answer: those in reasoning, and in the headers of messages, do not count. */
export class AnswerStops {
  readonly #stops: StopSequences
  readonly #turnEnds: StopSequences | undefined
  readonly #divider: Divider | undefined

  /** `format`: how the text is read; absent: all of it is the answer. `turnEnds`, and those of the format, end the text anywhere. */
  constructor(sequences: readonly string[], format: OutputFormat | undefined, turnEnds: readonly string[] = []) {
    this.#stops = new StopSequences(sequences)
    const ends = [...turnEnds, ...(format?.turnEnds ?? [])]
    this.#turnEnds = ends.length === 0 ? undefined : new StopSequences(ends)
    this.#divider = sequences.length === 0 || format === undefined ? undefined : dividerOf(format)
  }

  /** Returns the text that is now certain. After a step with a stop sequence nothing may be pushed. */
  push(text: string): StopStep {
    const turn = this.#turnEnds?.push(text) ?? { text }
    const step = this.#push(turn.text)
    if (turn.stopSequence === undefined || step.stopSequence !== undefined) return step
    return { text: step.text + this.#end(), stopSequence: turn.stopSequence }
  }

  /** The held text, at the end. */
  end(): string {
    const { text, stopSequence } = this.#push(this.#turnEnds?.end() ?? '')
    return stopSequence === undefined ? text + this.#end() : text
  }

  /** Reasoning has arrived outside this text: white space in front of the answer does not belong to it. */
  reasoningCame(): void {
    this.#divider?.reasoningCame()
  }

  #push(text: string): StopStep {
    return this.#divider === undefined ? this.#stops.push(text) : this.#take(this.#divider.push(text))
  }

  #end(): string {
    const { text, stopSequence } = this.#take(this.#divider?.end() ?? [])
    return stopSequence === undefined ? text + this.#stops.end() : text
  }

  #take(spans: readonly Span[]): StopStep {
    let certain = ''
    for (const { text, isAnswer } of spans) {
      if (!isAnswer) {
        certain += this.#stops.end() + text
        continue
      }
      const step = this.#stops.push(text)
      certain += step.text
      if (step.stopSequence !== undefined) return { text: certain, stopSequence: step.stopSequence }
    }
    return { text: certain }
  }
}

function dividerOf({ toolFormat, reasoning, startsInReasoning }: OutputFormat): Divider | undefined {
  const format = findToolFormat(toolFormat ?? '')
  const tags = reasoning && readReasoningTags(reasoning)
  if (format?.messages !== undefined) return new ByHeaders(format.messages, startsInReasoning && tags !== undefined)
  return tags && new ByTags(tags, format === undefined ? [] : answerBegins(format), startsInReasoning)
}

abstract class Dividing implements Divider {
  protected held = ''
  #spans: Span[] = []

  push(text: string): readonly Span[] {
    this.held += text
    while (this.step()) {
      // Waits for more text.
    }
    return this.#taken()
  }

  end(): readonly Span[] {
    this.pass(this.held.length, this.isAnswer)
    return this.#taken()
  }

  reasoningCame(): void {
    // Stop sequences only count in tags here.
  }

  /** Whether the text held at the end would belong to the answer. */
  protected abstract readonly isAnswer: boolean

  /** Passes on certain text. False if it needs more. */
  protected abstract step(): boolean

  protected pass(length: number, isAnswer: boolean): void {
    if (length > 0) this.#spans.push({ text: this.held.slice(0, length), isAnswer })
    this.held = this.held.slice(length)
  }

  /** Passes over white space in front of relevant text. */
  protected passSpace(): void {
    let length = 0
    while (length < this.held.length && isSpace(this.held[length] as string)) length += 1
    this.pass(length, false)
  }

  #taken(): readonly Span[] {
    const spans = this.#spans
    this.#spans = []
    return spans
  }
}

/** Reasoning between tags. */
class ByTags extends Dividing {
  readonly #tags: ReasoningTags
  readonly #begins: readonly string[]
  #state: 'start' | 'after-reasoning' | 'answer' | 'reasoning'

  /** `begins`: tags that the answer begins with. */
  constructor(tags: ReasoningTags, begins: readonly string[], startsInReasoning: boolean) {
    super()
    this.#tags = tags
    this.#begins = begins
    this.#state = startsInReasoning ? 'reasoning' : 'start'
  }

  get isAnswer(): boolean {
    return this.#state !== 'reasoning'
  }

  override reasoningCame(): void {
    if (this.#state === 'start') this.#state = 'after-reasoning'
  }

  protected step(): boolean {
    const { open, close, position } = this.#tags
    if (this.#state === 'reasoning') {
      const { tag, at } = search(this.held, [close, ...this.#begins])
      this.pass(at + (tag?.length ?? 0), false)
      if (tag !== undefined) this.#state = 'after-reasoning'
      return tag !== undefined
    }
    if (this.#state === 'answer') {
      const { tag, at } = search(this.held, position === 'anywhere' ? [open] : [])
      this.pass(at, true)
      return tag !== undefined && this.#enter(open.length)
    }
    // White space after a closing tag belongs to the tag.
    if (this.#state === 'after-reasoning') this.passSpace()
    const text = this.held.trimStart()
    if (text.startsWith(open)) return this.#enter(this.held.length - text.length + open.length)
    if (open.startsWith(text)) return false
    this.#state = 'answer'
    return true
  }

  #enter(length: number): true {
    this.pass(length, false)
    this.#state = 'reasoning'
    return true
  }
}

/** No header is longer. */
const maxHeaderChars = 1024

/** Messages, each with a header for its kind. */
class ByHeaders extends Dividing {
  readonly #syntax: MessageSyntax
  #state: 'begin' | 'header' | 'answer' | 'reasoning'

  constructor(syntax: MessageSyntax, startsInReasoning: boolean) {
    super()
    this.#syntax = syntax
    this.#state = startsInReasoning ? 'reasoning' : 'begin'
  }

  get isAnswer(): boolean {
    return this.#state === 'answer' || this.#state === 'begin'
  }

  protected step(): boolean {
    const { inBody, body, ends, headerStarts, readHeader } = this.#syntax
    switch (this.#state) {
      case 'begin':
        if (this.held === '' || headerStarts.some((head) => head.length > this.held.length && head.startsWith(this.held)))
          return false
        this.#state = headerStarts.some((head) => this.held.startsWith(head)) ? 'header' : 'answer'
        return true
      case 'header': {
        const at = this.held.indexOf(body)
        if (at === -1 && this.held.length <= maxHeaderChars) return false
        const isHeader = at !== -1 && at <= maxHeaderChars
        this.#state = isHeader && readHeader(this.held.slice(0, at)).type === 'reasoning' ? 'reasoning' : 'answer'
        if (isHeader) this.pass(at + body.length, false)
        return true
      }
      case 'answer':
      case 'reasoning': {
        const { tag, at } = search(this.held, [...ends, ...inBody])
        this.pass(at, this.#state === 'answer')
        if (tag === undefined) return false
        if (inBody.includes(tag)) this.#state = 'header'
        else {
          this.pass(tag.length, false)
          this.#state = 'begin'
        }
        return true
      }
    }
  }
}
