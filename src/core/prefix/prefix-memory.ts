import { hash } from 'node:crypto'
import { LruMap } from '../../base/lru-map.ts'
import type { CanonicalPath } from '../../contract/field.ts'
import type { ComparedPrompt, PromptChange } from '../../contract/usage.ts'
import { leastSimilarity, similarity } from './compare-texts.ts'
import { charsOf, findChange, type Present } from './find-change.ts'
import { findLine } from './find-line.ts'
import { type Outline, type OutlineMessage, outlineOf, type PromptOf } from './outline.ts'
import { type Turn, turnOf } from './turn.ts'

/** Lines of one session: agents run a title request or a subordinate agent beside the conversation. */
const maxLines = 8
const defaultMaxHashes = 200_000
const defaultMaxChars = 2 ** 25
/** Usual for English text and code. */
const usualTokensPerChar = 1 / 4

/** One turn of a conversation. */
export type ConversationTurn = PromptOf & {
  /** The id of the reply, by which a later request may name it. */
  readonly id: string
  /** The id of the caller; callers are independent. */
  readonly owner: string
  readonly model: string
  /** The client's name for its session; without one, the first question of a conversation identifies it. */
  readonly session?: string | undefined
  readonly inputTokens?: number | undefined
  /** The id of the reply to compare with. */
  readonly comparesWith?: string | undefined
  /** Whether the model's template may print a setting before the end of the prompt; absent: it may. */
  isPrinted?(setting: CanonicalPath): boolean
}

/** `diverged`: from the turn before of the conversation; `compared`: from the one that was asked for. */
export type Noted = { readonly diverged?: PromptChange; readonly compared?: ComparedPrompt }

type Options = {
  /** The most messages that are remembered, each as eight bytes. */
  readonly maxHashes?: number
  /** The most characters of the prompts whose texts are remembered. */
  readonly maxChars?: number
  onDiverged?(model: string): void
}

/**
 * Remembers the last turn of each conversation as hashes, and finds the first place that a later turn changed: what follows it cannot come
 * from a prompt cache. The texts tell how; they are forgotten first, and the conversations idle longest.
 */
export class PrefixMemory {
  readonly #options: Options
  readonly #sessions: LruMap<string, readonly Turn[]>
  readonly #replies: LruMap<string, Turn>
  readonly #outlines: LruMap<Turn, Outline>

  constructor(options: Options = {}) {
    this.#options = options
    const max = options.maxHashes ?? defaultMaxHashes
    this.#sessions = new LruMap({ max, sizeOf: (lines) => lines.reduce((size, turn) => size + sizeOf(turn), 0) })
    this.#replies = new LruMap({ max, sizeOf })
    this.#outlines = new LruMap({ max: options.maxChars ?? defaultMaxChars, sizeOf: charsIn })
  }

  /** Compares a turn with the one before, and with the one that its caller names, and remembers it. */
  note(asked: ConversationTurn): Noted {
    const { id, owner, model, session, inputTokens, comparesWith, isPrinted = () => true, ...request } = asked
    const outline = outlineOf(request)
    const turn = turnOf(model, outline)
    const now: Present = { turn, outline }
    const tokensPerChar = inputTokens === undefined ? usualTokensPerChar : inputTokens / Math.max(1, charsOf(turn))
    const findFrom = (before: Turn) =>
      findChange({ turn: before, outline: this.#outlines.get(before) }, now, { tokensPerChar, isPrinted })
    const named = comparesWith === undefined ? undefined : this.#replies.get(keyOf(owner, comparesWith))
    const compared = named === undefined ? ('unknown' as const) : (findFrom(named) ?? ('same' as const))
    const key = keyOf(owner, model, session === undefined ? `?${turn.question}` : `=${session}`)
    const known = this.#sessions.get(key) ?? []
    const { lines, before } = findLine(known, turn, (line, index) => this.#areSimilar(line, outline, index))
    const diverged = before && findFrom(before)
    const kept = lines.slice(0, maxLines)
    for (const line of known) if (!kept.includes(line)) this.#outlines.delete(line)
    this.#sessions.set(key, kept)
    this.#replies.set(keyOf(owner, id), turn)
    this.#outlines.set(turn, outline)
    if (diverged !== undefined) this.#options.onDiverged?.(model)
    return { ...(diverged !== undefined && { diverged }), ...(comparesWith !== undefined && { compared }) }
  }

  #areSimilar(line: Turn, now: Outline, index: number): boolean {
    const before = this.#outlines.get(line)?.messages[index]
    const current = now.messages[index]
    return before !== undefined && current !== undefined && similarity(textOf(before), textOf(current)) >= leastSimilarity
  }
}

function sizeOf({ messages }: Turn): number {
  return messages.length + 2
}

function charsIn({ tools, messages }: Outline): number {
  return messages.reduce(
    (sum, { parts }) => sum + parts.reduce((size, { text }) => size + text.length, 0),
    tools.reduce((sum, { json }) => sum + json.length, 0),
  )
}

function textOf({ parts }: OutlineMessage): string {
  return parts.map(({ text }) => text).join('')
}

/** A key of its parts, itself if it is about as short as its hash. */
function keyOf(...parts: readonly string[]): string {
  const text = parts.map((part) => `${part.length}:${part}`).join('')
  return text.length <= 64 ? text : hash('sha1', text, 'base64')
}
