import type { OutputFormat } from '../../../contract/output-format.ts'
import type { FunctionTool } from '../../../contract/request.ts'
import { createGrammarBuilder } from '../../../grammar/grammar-builder.ts'
import { type CallTag, callTags } from '../../../model-text/formats/call-tags.ts'
import { findToolFormat } from '../../../model-text/formats/tool-formats.ts'
import { readReasoningTags } from '../../../model-text/parse/reasoning-tags.ts'
import { addCalls, afterEnd } from './calls-grammar.ts'
import { beginOf, markedText, middleOf, type TextMark } from './marked-text.ts'

/** What a constraint depends on besides the request. */
export type ConstraintContext = { readonly format: OutputFormat | undefined; readonly endTexts: readonly string[] }

/** Not the beginning of a rule's name in any grammar of our own making. */
const answer = 'dragoman-answer'
const thought = 'dragoman-thought'

export type ChosenCalls = {
  /** The tools that may be called. */
  readonly tools: readonly FunctionTool[]
  /** All tools of the request: failures name their places in it. */
  readonly declared: readonly FunctionTool[]
  readonly parallel: boolean
}

/**
 * A grammar for an answer in which the model may begin calls wherever it likes: text and reasoning are free, and what follows
 * the mark of a call is one. Undefined where the format has no mark that could not be text.
 */
export function writeAutoCalls(
  { tools, declared, parallel }: ChosenCalls,
  { format, endTexts }: ConstraintContext,
): string | undefined {
  const known = findToolFormat(format?.toolFormat ?? '')
  if (known === undefined) return undefined
  const tags = callTags(known, tools, { parallel, writable: (text) => afterEnd(text, endTexts) })
  if (tags.length === 0) return undefined

  const builder = createGrammarBuilder()
  const calls = tags.map((tag) => ({ tag, rule: builder.addRule('calls', callsOf(tag)) }))
  const reasoning = known.messages === undefined && format?.reasoning ? readReasoningTags(format.reasoning) : undefined
  const inAnswer = calls.map(({ tag, rule }) => textMark(tag, `${rule} ${beginOf(answer)}`))
  // A call inside reasoning interrupts it, and does not end it.
  const inThought = calls
    .filter(({ tag }) => tag.endsReasoning)
    .map(({ tag, rule }) => textMark(tag, `${rule} ${middleOf(thought)}`))
  const opens: TextMark[] = []
  const closes: TextMark[] = []
  if (reasoning !== undefined) {
    const { open, close, position } = reasoning
    opens.push({ text: open, place: position, next: middleOf(thought) })
    closes.push({ text: close, place: 'anywhere', next: beginOf(answer) })
  }
  const rules = [
    ...markedText([...inAnswer, ...opens], answer),
    ...(reasoning === undefined ? [] : markedText([...inThought, ...closes], thought)),
  ]
  const startsInThought = reasoning !== undefined && format?.startsInReasoning === true
  const { grammar } = builder.build(startsInThought ? middleOf(thought) : beginOf(answer))
  return `${grammar.trimEnd()}\n${rules.map(({ name, body }) => `${name} ::= ${body}`).join('\n')}\n`

  function callsOf({ rest }: CallTag): string {
    return addCalls(builder, { description: rest, tools: declared, endTexts, isLenient: true })
  }
}

/** Quotes in front of a mark are not looked at: what is quoted is then at least a right call. */
function textMark({ tag, position }: CallTag, next: string): TextMark {
  return { text: tag, place: position === 'unquoted' ? 'anywhere' : position, next }
}
