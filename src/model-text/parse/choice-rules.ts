import type { OutputFormat } from '../../contract/output-format.ts'
import type { FunctionTool, OutputConstraint, ToolChoice } from '../../contract/request.ts'
import type { DroppedTag, MessageSyntax, TagPosition, Trigger } from '../formats/tool-format.ts'
import { findToolFormat } from '../formats/tool-formats.ts'
import { type ReasoningTags, readReasoningTags, unpairedTags } from './reasoning-tags.ts'
import { createTagSet, type TagSet } from './tags.ts'

/** What to look for in the text of a choice. */
export type ChoiceRules = TaggedRules | MessageRules

type SharedRules = {
  readonly startsInReasoning: boolean
  /** Text that the prompt ended with, and that is part of the answer where reasoning is not split off. */
  readonly prefix: string
  /** A call is required: what a limit truncated before it could become a call is not text either, and is left out. */
  readonly callRequired: boolean
}

/** The choice is text, with tags that begin calls or reasoning. */
export type TaggedRules = SharedRules & {
  readonly type: 'tagged'
  readonly answerTags: TagSet<AnswerTag>
  readonly reasoningTags: TagSet<ReasoningTag>
  /** Absent: there is no reasoning, or it is not split off. */
  readonly reasoning: ReasoningTags | undefined
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

/** A tag that counts in reasoning: one that ends it, or one that begins a call. */
type ReasoningTag = { readonly type: 'close' } | { readonly type: 'call'; readonly trigger: Trigger }

/** The part of a request that its rules depend on. */
export type RulesRequest = {
  /** Absent: the output is only text. */
  readonly format?: OutputFormat | undefined
  readonly tools?: readonly FunctionTool[]
  readonly toolChoice?: ToolChoice
  /** False: reasoning and the tags around it stay in the text, as the model wrote them. */
  readonly splitReasoning?: boolean
  /** Where it asks for JSON, a fence around the whole answer is not part of it. */
  readonly output?: OutputConstraint
}

/** Rules of requests without tools, by format. */
const rulesWithoutTools = new WeakMap<OutputFormat, ChoiceRules | 'none'>()

/** What to look for in the choices of one request; undefined when everything is text. */
export function rulesFor(request: RulesRequest): ChoiceRules | undefined {
  const { format, tools = [], splitReasoning = true } = request
  if (format === undefined) return undefined
  if (tools.length > 0 || !splitReasoning) return planRules(format, request)
  const rules = rulesWithoutTools.get(format) ?? planRules(format, request) ?? 'none'
  rulesWithoutTools.set(format, rules)
  return rules === 'none' ? undefined : rules
}

function planRules(format: OutputFormat, request: RulesRequest): ChoiceRules | undefined {
  const { tools = [], toolChoice = { type: 'auto' }, splitReasoning = true } = request
  const calls = findToolFormat(format.toolFormat ?? '')
  const tags = format.reasoning && readReasoningTags(format.reasoning)
  const startsInReasoning = tags !== undefined && format.startsInReasoning
  const shared: SharedRules = {
    startsInReasoning: startsInReasoning && splitReasoning,
    prefix: startsInReasoning && !splitReasoning ? (format.reasoning?.open ?? '') : '',
    callRequired: toolChoice.type === 'required',
  }
  if (calls?.messages !== undefined) return { type: 'messages', syntax: calls.messages, splitReasoning, ...shared }
  const reasoning = splitReasoning ? tags : undefined
  const looksForCalls = tools.length > 0 && toolChoice.type !== 'none'
  const triggers = looksForCalls ? (calls?.triggers(tools) ?? []) : []
  const dropped = [...(calls?.droppedTags ?? []), ...(reasoning === undefined ? [] : unpairedTags(reasoning))]
  if (reasoning === undefined && !looksForCalls && dropped.length === 0 && shared.prefix === '') return undefined
  return {
    type: 'tagged',
    reasoning,
    answerTags: createTagSet<AnswerTag>([
      ...triggers.map((trigger) => ({
        tag: trigger.tag,
        value: { type: 'call' as const, position: trigger.position, trigger },
      })),
      ...(reasoning === undefined
        ? []
        : [{ tag: reasoning.open, value: { type: 'reasoning' as const, position: reasoning.position, tags: reasoning } }]),
      ...dropped.map(({ tag, position, only }) => ({ tag, value: { type: 'dropped' as const, position, only } })),
    ]),
    reasoningTags: createTagSet<ReasoningTag>([
      ...triggers
        .filter(({ endsReasoning }) => endsReasoning === true)
        .map((trigger) => ({ tag: trigger.tag, value: { type: 'call' as const, trigger } })),
      ...(reasoning === undefined ? [] : [{ tag: reasoning.close, value: { type: 'close' as const } }]),
    ]),
    ...shared,
  }
}

/** Nothing to look for: for choices whose text is only freed of a fence. */
export const plainRules: TaggedRules = {
  type: 'tagged',
  reasoning: undefined,
  answerTags: createTagSet<AnswerTag>([]),
  reasoningTags: createTagSet<ReasoningTag>([]),
  startsInReasoning: false,
  prefix: '',
  callRequired: false,
}
