import { randomUUID } from 'node:crypto'
import { callableTools } from '../../contract/callable-tools.ts'
import type { EngineEvent, GenerationEvent } from '../../contract/event.ts'
import type { OutputFormat } from '../../contract/output-format.ts'
import type { OutputConstraint, Tool, ToolChoice } from '../../contract/request.ts'
import { CallWriter } from '../formats/call-writer.ts'
import type { DroppedTag, Trigger } from '../formats/tool-format.ts'
import { toolFormat } from '../formats/tool-formats.ts'
import { ChoiceSink } from '../scan/choice-sink.ts'
import { JsonFence } from '../scan/json-fence.ts'
import { type Reading, TextFeed } from '../scan/text-feed.ts'
import { readReasoningTags, unpairedTags } from './reasoning-tags.ts'
import { ChoiceParser, type ChoiceRules } from './tagged-parser.ts'
import { createTagSet } from './tags.ts'

type RawText = Extract<EngineEvent, { type: 'raw-text' }>

/** Turns a model's raw text into events. Whatever the split of the text, the joined events are equal. */
export interface OutputParser {
  push(raw: RawText): readonly GenerationEvent[]
  /** Ends a choice: returns what was held back, and ends what is open; the arguments of a call that was cut off stay as they are. */
  end(choice: number, isCut?: boolean): readonly GenerationEvent[]
  /** Something else than text comes next in a choice: as `end`, but more text may follow. */
  interrupt(choice: number): readonly GenerationEvent[]
  /** How many calls a choice made, so far. */
  calls(choice: number): number
  /** Pieces of raw text that began inside reasoning, over all choices: tokens, where a piece is a token. */
  readonly reasoningTokens: number
}

export type OutputParserOptions = {
  /** Absent: the output is only text. */
  readonly format?: OutputFormat | undefined
  readonly tools?: readonly Tool[]
  readonly toolChoice?: ToolChoice
  readonly parallelToolCalls?: boolean
  /** False: reasoning and the marks around it stay in the text, as the model wrote them. */
  readonly splitReasoning?: boolean
  /** Where it asks for JSON, a fence around the whole answer is not part of it. */
  readonly output?: OutputConstraint
  /** Makes the ids of calls that the model gave none. */
  readonly makeCallId?: () => string
}

/** A parser for the output of one request. */
export function createOutputParser(options: OutputParserOptions = {}): OutputParser {
  const rules = rulesFor(options)
  if (rules !== undefined) return new FormatParser(rules, options)
  return asksForJson(options) ? new FormatParser(plainRules, options) : new PlainParser()
}

/** What holds for every request without tools that is answered in this format; made once. */
const rulesWithoutTools = new WeakMap<OutputFormat, ChoiceRules | 'none'>()

/** What to look for; undefined when there is nothing. */
function rulesFor(options: OutputParserOptions): ChoiceRules | undefined {
  const { format, tools = [], splitReasoning = true } = options
  if (format === undefined) return undefined
  if (tools.length > 0 || !splitReasoning) return planRules(format, options)
  const rules = rulesWithoutTools.get(format) ?? planRules(format, options) ?? 'none'
  rulesWithoutTools.set(format, rules)
  return rules === 'none' ? undefined : rules
}

function planRules(format: OutputFormat, options: OutputParserOptions): ChoiceRules | undefined {
  const { tools = [], toolChoice = { type: 'auto' }, splitReasoning = true } = options
  const tags = format.reasoning && readReasoningTags(format.reasoning)
  const reasoning = splitReasoning ? tags : undefined
  const startsInReasoning = tags !== undefined && format.startsInReasoning
  const called = toolFormat(format.toolFormat ?? '')
  const looksForCalls = tools.length > 0 && toolChoice.type !== 'none'
  const triggers = looksForCalls ? (called?.triggers(tools) ?? []).map((value) => ({ tag: value.tag, value })) : []
  const droppedTags = [...(called?.droppedTags ?? []), ...(reasoning === undefined ? [] : unpairedTags(reasoning))]
  const prefix = startsInReasoning && !splitReasoning ? (format.reasoning?.open ?? '') : ''
  if (reasoning === undefined && !looksForCalls && droppedTags.length === 0 && called?.messages === undefined && prefix === '') {
    return undefined
  }
  return {
    messages: called?.messages,
    reasoning,
    prefix,
    splitReasoning,
    callRequired: toolChoice.type === 'required',
    startsInReasoning: startsInReasoning && splitReasoning,
    textTags: createTagSet<Trigger | DroppedTag | 'reasoning'>([
      ...triggers,
      ...(reasoning === undefined ? [] : [{ tag: reasoning.open, value: 'reasoning' as const }]),
      ...droppedTags.map((value) => ({ tag: value.tag, value })),
    ]),
    reasoningTags: createTagSet<Trigger | 'close'>([
      ...triggers.filter(({ value }) => value.endsReasoning === true),
      ...(reasoning === undefined ? [] : [{ tag: reasoning.close, value: 'close' as const }]),
    ]),
  }
}

const plainRules: ChoiceRules = {
  messages: undefined,
  reasoning: undefined,
  prefix: '',
  splitReasoning: true,
  callRequired: false,
  startsInReasoning: false,
  textTags: createTagSet([]),
  reasoningTags: createTagSet([]),
}

function asksForJson({ output }: OutputParserOptions): boolean {
  return output?.type === 'json-object' || output?.type === 'json-schema'
}

function randomCallId(): string {
  return `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`
}

/** Where there is nothing to look for, everything is text. */
class PlainParser implements OutputParser {
  readonly reasoningTokens = 0
  readonly #open = new Set<number>()

  push({ choice, text, tokens }: RawText): readonly GenerationEvent[] {
    const delta: GenerationEvent = { type: 'text-delta', choice, delta: text, ...(tokens !== undefined && { tokens }) }
    if (this.#open.has(choice)) return [delta]
    this.#open.add(choice)
    return [{ type: 'text-start', choice }, delta]
  }

  end(choice: number): readonly GenerationEvent[] {
    return this.#open.delete(choice) ? [{ type: 'text-end', choice }] : []
  }

  interrupt(choice: number): readonly GenerationEvent[] {
    return this.end(choice)
  }

  calls(): number {
    return 0
  }
}

type ChoiceState = {
  readonly feed: TextFeed
  readonly sink: ChoiceSink
  readonly writer: CallWriter
  readonly parser: ChoiceParser
  readonly reading: Reading<void>
}

/** One reading for each choice, moved on by each piece of its text. */
class FormatParser implements OutputParser {
  reasoningTokens = 0
  readonly #rules: ChoiceRules
  readonly #options: OutputParserOptions
  readonly #choices: (ChoiceState | undefined)[] = []
  /** Calls that were made before a choice's text was interrupted. */
  readonly #callsBefore: number[] = []

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

  end(choice: number, isCut = false): readonly GenerationEvent[] {
    const { feed, sink, reading } = this.#state(choice)
    feed.end(isCut)
    reading.next()
    return sink.end()
  }

  interrupt(choice: number): readonly GenerationEvent[] {
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

  #state(choice: number): ChoiceState {
    const known = this.#choices[choice]
    if (known !== undefined) return known
    const feed = new TextFeed()
    const sink = new ChoiceSink(choice, asksForJson(this.#options) ? new JsonFence() : undefined)
    const { tools = [], toolChoice = { type: 'auto' }, parallelToolCalls = true, makeCallId = randomCallId } = this.#options
    const callable = callableTools(tools, toolChoice)
    const writer = new CallWriter(feed, sink, { tools: callable, parallel: parallelToolCalls, makeCallId })
    const parser = new ChoiceParser({ feed, sink, writer }, this.#rules)
    const state = { feed, sink, writer, parser, reading: parser.read() }
    this.#choices[choice] = state
    return state
  }
}
