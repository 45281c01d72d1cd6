import { isDeepStrictEqual } from 'node:util'
import { parseJson } from '../base/json.ts'
import type { Exchange } from './probe/exchange.ts'
import { at, callsOf, chatContent, listAt, textAt, usageIn } from './probe/read.ts'
import { messageIn, short, unanswered } from './probe/row.ts'

/** Kinds of changes that a program or its user notices. Other words alone are not a change, unless a judge finds them worse. */
export const changeKinds = ['form', 'calls', 'schema', 'refusal', 'language', 'length', 'worse'] as const
export type ChangeKind = (typeof changeKinds)[number]

export type Change = { readonly kind: ChangeKind; readonly why: string }

/** The answer in a reply that is not streamed, in any protocol of conversations. */
export type Answer = {
  readonly text: string
  readonly calls: readonly { readonly name: string; readonly input: unknown }[]
  /** The thoughts before it, if the server shows them. */
  readonly thoughts?: string
  readonly outputTokens: number
  readonly ms: number
  /** Why there is no answer. */
  readonly failure?: string
}

export function answerIn(exchange: Exchange): Answer {
  const { json, ms } = exchange
  const blocks = [...listAt(json, 'content'), ...listAt(json, 'output')]
  const thoughts = thoughtsIn(json, blocks)
  const others = blocks.flatMap((block) => {
    const type = at(block, 'type')
    if (type === 'tool_use') return [{ name: textAt(block, 'name') ?? '', input: at(block, 'input') }]
    return type === 'function_call'
      ? [{ name: textAt(block, 'name') ?? '', input: parseJson(textAt(block, 'arguments') ?? '') }]
      : []
  })
  const ollama = listAt(json, 'message.tool_calls').map((call) => ({
    name: textAt(call, 'function.name') ?? '',
    input: at(call, 'function.arguments'),
  }))
  const chat = callsOf(exchange).map(({ name, arguments: text }) => ({ name, input: parseJson(text) }))
  const problem = unanswered(exchange)
  return {
    text:
      chatContent(exchange) ||
      textAt(json, 'message.content') ||
      blocks
        .filter((block) => !isThought(block))
        .map(textOf)
        .join(''),
    calls: [...chat, ...others, ...ollama],
    ...(thoughts !== '' && { thoughts }),
    outputTokens: usageIn(exchange).output ?? 0,
    ms,
    ...(problem !== undefined && problem.outcome !== 'holds' && { failure: messageIn(exchange) ?? problem.why }),
  }
}

const isThought = (block: unknown) => at(block, 'type') === 'reasoning'
const textOf = (block: unknown): string =>
  (textAt(block, 'text') ?? '') +
  [...listAt(block, 'content'), ...listAt(block, 'summary')].map((part) => textAt(part, 'text') ?? '').join('')

function thoughtsIn(json: unknown, blocks: readonly unknown[]): string {
  const named = ['choices.0.message.reasoning_content', 'choices.0.message.reasoning', 'message.thinking']
  const inBlocks = blocks.map((block) => (isThought(block) ? textOf(block) : (textAt(block, 'thinking') ?? '')))
  return named.map((path) => textAt(json, path)).find((text) => text) ?? inBlocks.join('')
}

/** The changes from an answer to the one in its place. Nothing is compared with an answer that was not there. */
export function changesOf(before: Answer, after: Answer, body: unknown): readonly Change[] {
  if (before.failure !== undefined) return []
  if (after.failure !== undefined) return [{ kind: 'form', why: after.failure }]
  const changes: (Change | false)[] = [
    markup.test(after.text) &&
      !markup.test(before.text) && { kind: 'form', why: `the text has markup of the model: ${short(after.text)}` },
    before.text !== '' && after.text === '' && after.calls.length === 0 && { kind: 'form', why: 'the answer is empty' },
    !isDeepStrictEqual(before.calls, after.calls) && { kind: 'calls', why: `${callsText(before)} became ${callsText(after)}` },
    wantsJson(body) &&
      parseJson(before.text) !== undefined &&
      !hasKeysOf(after.text, before.text) && { kind: 'schema', why: `the JSON became ${short(after.text)}` },
    refuses.test(after.text) && !refuses.test(before.text) && { kind: 'refusal', why: short(after.text) },
    scriptOf(before.text) !== scriptOf(after.text) && {
      kind: 'language',
      why: `${scriptOf(before.text)} became ${scriptOf(after.text)}`,
    },
    isOtherLength(before, after) && { kind: 'length', why: `${before.outputTokens} tokens became ${after.outputTokens}` },
  ]
  return changes.filter((change) => change !== false)
}

const markup = /<\|[a-z_]+\|>|<\/?tool_call>|\[TOOL_CALLS\]|\[\/?INST\]|<\/?think>|<(start|end)_of_turn>/
const refuses = /^\W*(i['’]?m sorry|i am sorry|i can(no|['’])t (help|assist|do)|i['’]?m unable|as an ai)/i

const callsText = ({ calls }: Answer) =>
  short(calls.map(({ name, input }) => `${name}(${JSON.stringify(input)})`).join(', ') || 'no call')

/** Whether a request asks for JSON, in any protocol. */
function wantsJson(body: unknown): boolean {
  const kinds = ['response_format.type', 'text.format.type', 'format', 'output_config.format.type'].map((path) => at(body, path))
  return kinds.some((kind) => (typeof kind === 'string' ? kind.startsWith('json') : kind !== undefined && kind !== null))
}

function hasKeysOf(text: string, wanted: string): boolean {
  const keys = (json: unknown) => (typeof json === 'object' && json !== null ? Object.keys(json).sort() : typeof json)
  const found = parseJson(text)
  return found !== undefined && isDeepStrictEqual(keys(found), keys(parseJson(wanted)))
}

const scripts = ['Latin', 'Cyrillic', 'Han', 'Hiragana', 'Hangul', 'Arabic', 'Hebrew', 'Greek', 'Thai', 'Devanagari'] as const
const patterns = scripts.map((script) => [script, new RegExp(`\\p{Script=${script}}`, 'gu')] as const)

/** The script of most letters: a coarse sign of the language. */
function scriptOf(text: string): string {
  const counts = patterns.map(([script, pattern]) => ({ script, count: text.match(pattern)?.length ?? 0 }))
  const most = counts.reduce((best, one) => (one.count > best.count ? one : best))
  // A few letters, as in JSON or code, say little of a language.
  return most.count < 10 ? 'Latin' : most.script
}

const fewTokens = 20
const isOtherLength = (before: Answer, after: Answer) => {
  const [less, more] = [before.outputTokens, after.outputTokens].sort((a, b) => a - b) as [number, number]
  return more >= fewTokens && more > 2 * less
}
