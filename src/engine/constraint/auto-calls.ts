import type { OutputFormat } from '../../contract/output-format.ts'
import type { FunctionTool } from '../../contract/request.ts'
import { createGrammarBuilder } from '../../grammar/grammar-builder.ts'
import { beginOf, middleOf, type TextTag, taggedText } from '../../grammar/tagged-text.ts'
import { type CallTag, callTags } from '../../model-text/formats/call-tags.ts'
import { findToolFormat } from '../../model-text/formats/tool-formats.ts'
import { readReasoningTags } from '../../model-text/parse/reasoning-tags.ts'
import { addCalls, afterEnd } from './calls-grammar.ts'

/** The properties of the model that a constraint depends on. */
export type ConstraintContext = { readonly format: OutputFormat | undefined; readonly endTexts: readonly string[] }

const answer = 'dragoman-answer'
const thought = 'dragoman-thought'

type AutoCalls = {
  /** The tools that may be called. */
  readonly tools: readonly FunctionTool[]
  /** All tools of the request: failures name their index. */
  readonly declared: readonly FunctionTool[]
  readonly parallel: boolean
}

/**
 * A grammar for output in which a call may begin anywhere: text and reasoning are free, and a complete call follows each opening tag.
 * Undefined for formats without an unambiguous tag.
 */
export function writeAutoCalls(
  { tools, declared, parallel }: AutoCalls,
  { format, endTexts }: ConstraintContext,
): string | undefined {
  const known = findToolFormat(format?.toolFormat ?? '')
  if (known === undefined) return undefined
  const tags = callTags(known, tools, { parallel, writable: (text) => afterEnd(text, endTexts) })
  if (tags.length === 0) return undefined

  const builder = createGrammarBuilder()
  const calls = tags.map((tag) => ({ tag, rule: builder.addRule('calls', callsOf(tag)) }))
  const reasoning = known.messages === undefined && format?.reasoning ? readReasoningTags(format.reasoning) : undefined
  const inAnswer = calls.map(({ tag, rule }) => textTag(tag, `${rule} ${beginOf(answer)}`))
  // A call inside reasoning interrupts it but does not end it.
  const inThought = calls
    .filter(({ tag }) => tag.endsReasoning && format?.callsInReasoning !== false)
    .map(({ tag, rule }) => textTag(tag, `${rule} ${middleOf(thought)}`))
  const opens: TextTag[] = []
  const closes: TextTag[] = []
  if (reasoning !== undefined) {
    const { open, close, position } = reasoning
    opens.push({ text: open, position: position, next: middleOf(thought) })
    closes.push({ text: close, position: 'anywhere', next: beginOf(answer) })
  }
  builder.addNamed(taggedText([...inAnswer, ...opens], answer))
  if (reasoning !== undefined) builder.addNamed(taggedText([...inThought, ...closes], thought))
  const startsInThought = reasoning !== undefined && format?.startsInReasoning === true
  return builder.build(startsInThought ? middleOf(thought) : beginOf(answer)).grammar

  function callsOf({ rest }: CallTag): string {
    return addCalls(builder, { description: rest, tools: declared, endTexts, isLenient: true })
  }
}

/** Quotes in front of a tag are ignored, so a quoted tag must also be followed by a valid call. */
function textTag({ tag, position }: CallTag, next: string): TextTag {
  return { text: tag, position: position === 'unquoted' ? 'anywhere' : position, next }
}
