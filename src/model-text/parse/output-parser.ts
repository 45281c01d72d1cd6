import { randomHex } from '../../base/random-hex.ts'
import { callableTools } from '../../canonical/callable-tools.ts'
import type { EngineEvent, GenerationEvent } from '../../contract/event.ts'
import { CallWriter } from '../formats/call-writer.ts'
import { ChoiceSink } from '../scan/choice-sink.ts'
import { JsonFence } from '../scan/json-fence.ts'
import { type Reading, TextFeed } from '../scan/text-feed.ts'
import { type ChoiceRules, type RulesRequest, rulesFor } from './choice-rules.ts'
import { MessageParser } from './message-parser.ts'
import { TaggedParser } from './tagged-parser.ts'

type RawText = Extract<EngineEvent, { type: 'raw-text' }>

/** Turns a model's raw text into events. The joined events are the same for every split of the text into pieces. */
export interface OutputParser {
  push(raw: RawText): readonly GenerationEvent[]
  /** Ends a choice: emits held text, and ends open blocks. The arguments of a truncated call are not completed. */
  end(choice: number, isTruncated?: boolean): readonly GenerationEvent[]
  /** Ends the text of a choice before another event of the engine; more text may follow: of the answer, if the engine tells thoughts apart. */
  interrupt(choice: number, options?: { readonly endsThought: boolean }): readonly GenerationEvent[]
  /** The number of calls in a choice so far. */
  calls(choice: number): number
  /** Pieces of raw text that began inside reasoning, over all choices: tokens, where a piece is a token. */
  readonly reasoningTokens: number
}

/** The part of a request that its parser depends on. */
export type OutputParserOptions = RulesRequest & {
  readonly parallelToolCalls?: boolean
  /** Creates an id for each call without one. */
  readonly makeCallId?: () => string
}

export function createOutputParser(options: OutputParserOptions = {}): OutputParser {
  return new FormatParser(rulesFor(options), options)
}

function asksForJson({ output }: OutputParserOptions): boolean {
  return output?.type === 'json-object' || output?.type === 'json-schema'
}

function randomCallId(): string {
  return `call_${randomHex().slice(0, 24)}`
}

type ChoiceReading = {
  readonly feed: TextFeed
  readonly sink: ChoiceSink
  readonly writer: CallWriter
  readonly parser: TaggedParser | MessageParser
  readonly reading: Reading<void>
}

/** Runs one reading for each choice; every piece of text resumes it. */
class FormatParser implements OutputParser {
  reasoningTokens = 0
  readonly #rules: ChoiceRules
  readonly #options: OutputParserOptions
  readonly #choices: (ChoiceReading | undefined)[] = []
  /** By choice, the number of calls before its text was last interrupted. */
  readonly #callsBefore: number[] = []
  /** Choices whose text is no longer in the thought that their format begins in. */
  readonly #afterThought = new Set<number>()

  constructor(rules: ChoiceRules, options: OutputParserOptions) {
    this.#rules = rules
    this.#options = options
  }

  push({ choice, text, tokens }: RawText): readonly GenerationEvent[] {
    const { feed, sink, parser, reading } = this.#state(choice)
    if (parser.inReasoning) this.reasoningTokens += 1
    sink.addTokens(tokens)
    feed.push(text)
    reading.next()
    return sink.take()
  }

  end(choice: number, isTruncated = false): readonly GenerationEvent[] {
    // Most servers parse their text themselves.
    if (this.#choices[choice] === undefined && this.#rules.prefix === '') return []
    const { feed, sink, reading } = this.#state(choice)
    feed.end(isTruncated)
    reading.next()
    return sink.end()
  }

  interrupt(choice: number, { endsThought } = { endsThought: false }): readonly GenerationEvent[] {
    if (endsThought) this.#afterThought.add(choice)
    const state = this.#choices[choice]
    if (state === undefined) return []
    const events = this.end(choice)
    this.#callsBefore[choice] = this.calls(choice)
    this.#choices[choice] = undefined
    return events
  }

  calls(choice: number): number {
    return (this.#callsBefore[choice] ?? 0) + (this.#choices[choice]?.writer.calls ?? 0)
  }

  #state(choice: number): ChoiceReading {
    const known = this.#choices[choice]
    if (known !== undefined) return known
    const feed = new TextFeed()
    const sink = new ChoiceSink(choice, asksForJson(this.#options) ? new JsonFence() : undefined)
    const { tools = [], otherTools, parallelToolCalls = true, makeCallId = randomCallId } = this.#options
    const { toolChoice = { type: 'auto' } } = this.#options
    const others = otherTools ?? []
    const writer = new CallWriter(feed, sink, {
      tools: [...callableTools(tools, toolChoice), ...others],
      declared: [...tools, ...others],
      others: otherTools === undefined ? 'none' : asksForJson(this.#options) ? 'tagged' : 'all',
      dropsOthers: toolChoice.type === 'required',
      parallel: parallelToolCalls,
      makeCallId,
    })
    const rules = this.#afterThought.has(choice) ? { ...this.#rules, startsInReasoning: false, prefix: '' } : this.#rules
    const parser = rules.type === 'messages' ? new MessageParser(writer, sink, rules) : new TaggedParser(writer, sink, rules)
    const state = { feed, sink, writer, parser, reading: parser.read() }
    this.#choices[choice] = state
    return state
  }
}
