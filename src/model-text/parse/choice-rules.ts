import type { OutputFormat } from '../../contract/output-format.ts'
import type { FunctionTool, OutputConstraint, ToolChoice } from '../../contract/request.ts'
import {
  answerBegins,
  type DroppedTag,
  type MessageSyntax,
  type TagPosition,
  type ToolFormat,
  type Trigger,
} from '../formats/tool-format.ts'
import { findToolFormat } from '../formats/tool-formats.ts'
import { turnEnds, turnHeaders } from '../formats/turn-marks.ts'
import { droppedAround, type ReasoningTags, readReasoningTags } from './reasoning-tags.ts'
import { createTagSet, type TagSet } from './tags.ts'

/** How to read the text of a choice. */
export type ChoiceRules = TaggedRules | MessageRules

type SharedRules = {
  readonly startsInReasoning: boolean
  /** Text at the end of the prompt that belongs to the answer if reasoning is not separated. */
  readonly prefix: string
  /** A call is required: text that a limit truncated before it could become a call is left out. */
  readonly callRequired: boolean
}

/** The choice is text, with tags that begin calls or reasoning. */
export type TaggedRules = SharedRules & {
  readonly type: 'tagged'
  readonly answerTags: TagSet<AnswerTag>
  /** As `tags`, including `callTokens`: they are dropped after the beginning of an unreadable call. */
  readonly brokenCallTags: TagSet<AnswerTag>
  /** Special tokens around calls and in them. */
  readonly callTokens: readonly string[]
  readonly reasoningTags: TagSet<ReasoningTag>
  /** Absent: no reasoning to look for. */
  readonly reasoning: ReasoningTags | undefined
  /** Reasoning stays in the text, with its tags: it is only recognized because calls in it are not made. */
  readonly reasoningIsText: boolean
  /** Calls in reasoning are made, and the reasoning continues; otherwise, only those without a later closing tag are made. */
  readonly makesThoughtCalls: boolean
}

/** The choice is a row of messages. */
export type MessageRules = SharedRules & {
  readonly type: 'messages'
  readonly syntax: MessageSyntax
  /** False: reasoning is text, with the delimiters around it. */
  readonly splitReasoning: boolean
}

/** A tag that counts in an answer. */
export type AnswerTag = { readonly position: TagPosition } & (
  | { readonly type: 'call'; readonly trigger: Trigger }
  | { readonly type: 'reasoning'; readonly tags: ReasoningTags }
  | { readonly type: 'dropped'; readonly only: DroppedTag['only'] }
)

/** A tag that counts in reasoning: one that ends it, one that begins the answer or a call, one that ends the turn, or markup. */
type ReasoningTag =
  | { readonly type: 'close' | 'answer' | 'turn-end' | 'dropped' }
  | { readonly type: 'call'; readonly trigger: Trigger }

/** The part of a request that its rules depend on. */
export type RulesRequest = {
  /** Absent: the output is only text. */
  readonly format?: OutputFormat | undefined
  readonly tools?: readonly FunctionTool[]
  readonly toolChoice?: ToolChoice
  /** Calls of these, and of undeclared tools, are read as well. Absent: such calls are text. */
  readonly otherTools?: readonly FunctionTool[] | undefined
  /** False: reasoning and the tags around it stay in the text, as the model wrote them. */
  readonly splitReasoning?: boolean
  /** If it asks for JSON, a fence around the whole answer is not part of it. */
  readonly output?: OutputConstraint
}

/** Rules of requests without tools, by format. */
const rulesWithoutTools = new WeakMap<OutputFormat, ChoiceRules>()

export function rulesFor(request: RulesRequest): ChoiceRules {
  const { format, tools = [], otherTools, splitReasoning = true } = request
  if (format === undefined) return plainRules
  if (tools.length > 0 || otherTools !== undefined || !splitReasoning) return planRules(format, request)
  const rules = rulesWithoutTools.get(format) ?? planRules(format, request)
  rulesWithoutTools.set(format, rules)
  return rules
}

function planRules(format: OutputFormat, request: RulesRequest): ChoiceRules {
  const { tools = [], toolChoice = { type: 'auto' }, otherTools, splitReasoning = true } = request
  const calls = findToolFormat(format.toolFormat ?? '')
  const tags = format.reasoning && readReasoningTags(format.reasoning)
  const startsInReasoning = tags !== undefined && format.startsInReasoning
  const shared: SharedRules = {
    startsInReasoning,
    prefix: startsInReasoning && !splitReasoning ? (format.reasoning?.open ?? '') : '',
    callRequired: toolChoice.type === 'required',
  }
  if (calls?.messages !== undefined) {
    return {
      type: 'messages',
      syntax: calls.messages,
      splitReasoning,
      ...shared,
      startsInReasoning: startsInReasoning && splitReasoning,
    }
  }
  const looksForCalls = otherTools !== undefined || (tools.length > 0 && toolChoice.type !== 'none')
  const triggers = looksForCalls ? (calls?.triggers([...tools, ...(otherTools ?? [])]) ?? []) : []
  const reasoningIsText = tags === undefined || !splitReasoning
  const reasoning = reasoningIsText && triggers.length === 0 ? undefined : (tags ?? unknownReasoning)
  // Calls of tools that may not be called are text, as the model wrote them.
  const ofFormat = (calls?.droppedTags ?? []).filter(
    ({ ofCalls }) => ofCalls === undefined || looksForCalls || tools.length === 0,
  )
  const dropped = [
    ...ofFormat,
    ...(calls === undefined ? [] : strayEnds(calls)),
    ...(reasoning === undefined || reasoningIsText ? [] : droppedAround(reasoning)),
  ]
  const callTokens = calls?.visibleTokens ?? []
  const callTags = triggers.map((trigger) => ({
    tag: trigger.tag,
    value: { type: 'call' as const, position: trigger.position, trigger },
  }))
  const otherTags = [
    ...(reasoning === undefined
      ? []
      : [{ tag: reasoning.open, value: { type: 'reasoning' as const, position: reasoning.position, tags: reasoning } }]),
    ...[...dropped, ...turnTags].map(({ tag, position, only }) => ({
      tag,
      value: { type: 'dropped' as const, position, only },
    })),
  ]
  return {
    type: 'tagged',
    reasoning,
    reasoningIsText,
    makesThoughtCalls: format.callsInReasoning === true,
    answerTags: createTagSet<AnswerTag>([...callTags, ...otherTags]),
    brokenCallTags: createTagSet<AnswerTag>([
      ...callTags,
      ...callTokens.map((tag) => ({ tag, value: droppedAnywhere })),
      ...otherTags,
    ]),
    callTokens,
    reasoningTags: createTagSet<ReasoningTag>([
      ...(format.callsInReasoning === false ? [] : triggers)
        .filter(({ endsReasoning }) => endsReasoning !== undefined)
        .map((trigger) => ({ tag: trigger.tag, value: { type: 'call' as const, trigger } })),
      ...(reasoning === undefined ? [] : [{ tag: reasoning.close, value: { type: 'close' as const } }]),
      ...(calls === undefined ? [] : answerBegins(calls)).map((tag) => ({ tag, value: { type: 'answer' as const } })),
      ...ofFormat
        .filter(({ position, only }) => position === 'anywhere' && only === undefined && !reasoningIsText)
        .map(({ tag }) => ({ tag, value: { type: 'dropped' as const } })),
      ...turnEnds.map((tag) => ({ tag, value: { type: 'turn-end' as const } })),
    ]),
    ...shared,
  }
}

/** Tags that end calls, without a call to end. */
function strayEnds({ visibleTokens }: ToolFormat): readonly DroppedTag[] {
  const ends = visibleTokens.filter((tag) =>
    /^<\|?\/|(?:end|END_ACTION|suffix)[|｜]>$|^<end_function_call>$|^<tool_call\|>$/.test(tag),
  )
  return ends.map((tag) => ({ tag, position: 'start' }))
}

const droppedAnywhere: AnswerTag = { type: 'dropped', position: 'anywhere', only: undefined }

/** Calls in these tags are never made, even if it is unknown whether the model reasons in them. */
const unknownReasoning: ReasoningTags = { open: '<think>', close: '</think>', trimAfter: false, position: 'start', dropped: [] }

/** The tags around a turn. They are text if anything else surrounds them: then they are only mentioned. */
const turnTags: readonly DroppedTag[] = [
  ...turnEnds.map((tag): DroppedTag => ({ tag, position: 'anywhere', only: 'last' })),
  ...turnHeaders.map((tag): DroppedTag => ({ tag, position: 'start', only: 'header' })),
]

/** Only the tags around a turn: for text without a format. */
const plainRules: TaggedRules = {
  type: 'tagged',
  reasoning: undefined,
  reasoningIsText: true,
  makesThoughtCalls: false,
  answerTags: createTagSet<AnswerTag>(
    turnTags.map(({ tag, position, only }) => ({ tag, value: { type: 'dropped' as const, position, only } })),
  ),
  brokenCallTags: createTagSet<AnswerTag>([]),
  callTokens: [],
  reasoningTags: createTagSet<ReasoningTag>([]),
  startsInReasoning: false,
  prefix: '',
  callRequired: false,
}
