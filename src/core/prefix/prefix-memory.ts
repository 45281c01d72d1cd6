import { hash } from 'node:crypto'
import { z } from 'zod'
import { given } from '../../base/json.ts'
import { LruMap } from '../../base/lru-map.ts'
import { orAborted } from '../../base/time-limit.ts'
import type { CanonicalPath } from '../../contract/field.ts'
import type { Bus, Topic } from '../../contract/server/shared.ts'
import type { ComparedPrompt, PromptChange } from '../../contract/usage.ts'
import { leastSimilarity, similarity } from './compare-texts.ts'
import { findDropped, mayDropThoughts, namesThoughts, type RenderPrompt } from './dropped-thoughts.ts'
import { charsOf, findChange, type Known, type Present, withEstimate } from './find-change.ts'
import { findLine } from './find-line.ts'
import { type Outline, type OutlineMessage, outlineOf, type PromptOf } from './outline.ts'
import { type Turn, turnOf, turnSchema } from './turn.ts'

/** Lines of one session: agents run a title request or a subordinate agent beside the conversation. */
const maxLines = 8
const defaultMaxTurnBytes = 2 ** 24
const defaultMaxTextBytes = 2 ** 25
/** What objects take beside the hashes of a turn, and beside the characters of an outline, each of its messages, and each tool (measured). */
const bytesOfTurn = 350
const bytesOfOutline = 400
const bytesOfText = 240
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
  /** The source of the chat template; absent or undefined: it is unknown. */
  readTemplate?(): string | undefined
}

/** `diverged`: from the turn before of the conversation; `compared`: from the one that was asked for. */
export type Noted = { readonly diverged?: PromptChange; readonly compared?: ComparedPrompt }

type Options = {
  /** The memory for turns as hashes, once by conversation and once by reply. */
  readonly maxTurnBytes?: number
  /** The memory for the texts of turns. */
  readonly maxTextBytes?: number
  /** The other processes of the server. */
  readonly siblings?: Bus | undefined
  /** All processes with the same database: they know each other's replies. */
  readonly everyone?: Bus | undefined
  /** Absent: thoughts that a template drops are not looked for. */
  readonly render?: RenderPrompt
  onDiverged?(model: string): void
}

/** A turn whose predecessor another process may have. Keys include the owner. */
type Question = { readonly session: string; readonly turn: Turn }
type Answer = { readonly turn: Turn; readonly outline?: Outline | undefined }
/** The processes of a server have the same version. */
const topic: Topic<Question, Answer> = { name: 'turns', message: z.custom<Question>(), answer: z.custom<Answer>() }

const replyMessage = z.object({ reply: z.string() })
const replyAnswer = z.object({ turn: turnSchema, outline: z.object({ settings: z.record(z.string(), z.string()) }).optional() })
/** A reply to compare with that another process may have given. It gives hashes, and no texts of messages: any client of the database can listen. */
const replyTopic: Topic<z.output<typeof replyMessage>, Known> = { name: 'replies', message: replyMessage, answer: replyAnswer }

/** The reply waits for it: a process or a template that is busy for longer is not waited for. */
const longestAskMs = 100

/** A turn that is compared. */
type Asked = {
  readonly now: Present
  readonly session: string
  readonly reply: string
  /** The reply to compare with. */
  readonly named: string | undefined
  findFrom(before: Known): PromptChange | undefined
  /** Thoughts that the template dropped since; undefined: there are none for sure. */
  findDropped(before: Turn): Promise<PromptChange | undefined> | undefined
}

/** What other processes answered. `turns`: undefined where they were not heard; then no difference is reported. */
type Heard = { readonly turns: readonly Answer[] | undefined; readonly reply: Known | undefined }

/** `before`, `earlier`: the turns that were compared. */
type Outcome = Noted & { readonly before: Turn | undefined; readonly earlier: Turn | undefined }

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
    const max = options.maxTurnBytes ?? defaultMaxTurnBytes
    this.#sessions = new LruMap({ max, sizeOf: (lines) => lines.reduce((size, turn) => size + sizeOf(turn), 0) })
    this.#replies = new LruMap({ max, sizeOf })
    this.#outlines = new LruMap({ max: options.maxTextBytes ?? defaultMaxTextBytes, sizeOf: sizeOfTexts })
    void options.siblings?.subscribe(topic, (question) => this.#answer(question))
    void options.everyone?.subscribe(replyTopic, ({ reply }) => this.#answerReply(reply))
  }

  /**
   * Compares a turn with the one before, and with the one that its caller names, and remembers it. Asks the other processes, if there are
   * any, before it reports a difference or an unknown reply.
   */
  note(request: ConversationTurn): Noted | Promise<Noted> {
    const { id, owner, model, session, inputTokens, comparesWith, isPrinted = () => true } = request
    const outline = outlineOf(request)
    const turn = turnOf(model, outline)
    const now: Present = { turn, outline }
    const tokensPerChar = inputTokens === undefined ? usualTokensPerChar : inputTokens / Math.max(1, charsOf(turn))
    const compared: Asked = {
      now,
      session: keyOf(owner, model, session === undefined ? `?${turn.question}` : `=${session}`),
      reply: keyOf(owner, id),
      named: comparesWith === undefined ? undefined : keyOf(owner, comparesWith),
      findFrom: (before) => findChange(before, now, { tokensPerChar, isPrinted }),
      findDropped: (before) => {
        const { render } = this.#options
        const { prompt, reasoning, toolChoice } = request
        // A thread gets it.
        const continued = { request: { prompt, ...given({ reasoning, toolChoice }) }, before: before.messages.length }
        if (render === undefined || !mayDropThoughts(continued)) return undefined
        const template = request.readTemplate?.()
        if (template === undefined || !namesThoughts.test(template)) return undefined
        const found = orAborted(findDropped({ ...continued, template }, render), AbortSignal.timeout(longestAskMs)).catch(
          () => undefined,
        )
        return found.then((dropped) => dropped && withEstimate(dropped, before, tokensPerChar))
      },
    }
    const { siblings, everyone } = this.#options
    const { session: inSession, named } = compared
    const isUnsure = siblings !== undefined && this.#isUnsure(compared)
    const turns = isUnsure ? siblings.publish(topic, { session: inSession, turn }) : undefined
    const isUnknown = named !== undefined && this.#replies.get(named) === undefined
    const replies = isUnknown ? everyone?.publish(replyTopic, { reply: named }) : undefined
    const complete = (heard: Heard) => this.#complete(compared, this.#noteKnown(compared, heard))
    if (turns === undefined && replies === undefined) return complete({ turns: [], reply: undefined })
    return Promise.all([inTime(turns), inTime(replies)]).then(([turns, replies]) => complete({ turns, reply: replies?.[0] }))
  }

  /** Turns with equal messages may still differ by what the template prints of them. */
  #complete({ now, findDropped }: Asked, { before, earlier, ...noted }: Outcome): Noted | Promise<Noted> {
    const report = (found: Noted) => {
      if (found.diverged !== undefined) this.#options.onDiverged?.(now.turn.model)
      return found
    }
    const since = before === undefined || noted.diverged !== undefined ? undefined : findDropped(before)
    const sinceEarlier = noted.compared !== 'same' || earlier === undefined ? undefined : findDropped(earlier)
    if (since === undefined && sinceEarlier === undefined) return report(noted)
    return Promise.all([since, sinceEarlier]).then(([diverged = noted.diverged, compared = noted.compared]) =>
      report({ ...(diverged !== undefined && { diverged }), ...(compared !== undefined && { compared }) }),
    )
  }

  /** Whether other processes may know the turn before better. */
  #isUnsure({ now: { turn, outline }, session, findFrom }: Asked): boolean {
    const { before } = this.#find(this.#sessions.get(session) ?? [], turn, outline)
    return before === undefined ? turn.messages.some((message) => message < 0) : findFrom(this.#known(before)) !== undefined
  }

  #noteKnown({ now, session, reply, named, findFrom }: Asked, heard: Heard): Outcome {
    const { turn, outline } = now
    for (const told of heard.turns ?? []) if (told.outline !== undefined) this.#outlines.set(told.turn, told.outline)
    const own = named === undefined ? undefined : this.#replies.get(named)
    const earlier = own === undefined ? heard.reply : this.#known(own)
    const compared = earlier === undefined ? ('unknown' as const) : (findFrom(earlier) ?? ('same' as const))
    const known = [...(this.#sessions.get(session) ?? []), ...(heard.turns ?? []).map((told) => told.turn)]
    const { lines, before } = this.#find(known, turn, outline)
    const diverged = heard.turns && before && findFrom(this.#known(before))
    const kept = lines.slice(0, maxLines)
    for (const line of known) if (!kept.includes(line)) this.#outlines.delete(line)
    this.#sessions.set(session, kept)
    this.#replies.set(reply, turn)
    this.#outlines.set(turn, outline)
    const noted = { ...(diverged !== undefined && { diverged }), ...(named !== undefined && { compared }) }
    return { ...noted, before: heard.turns && before, earlier: earlier?.turn }
  }

  #answer({ session, turn }: Question): Answer | undefined {
    const { before } = findLine(this.#sessions.get(session) ?? [], turn)
    return before && this.#known(before)
  }

  #answerReply(reply: string): Known | undefined {
    const turn = this.#replies.get(reply)
    const settings = turn && this.#outlines.get(turn)?.settings
    return turn && { turn, ...(settings !== undefined && { outline: { settings } }) }
  }

  #known(turn: Turn): Answer {
    return { turn, outline: this.#outlines.get(turn) }
  }

  #find(lines: readonly Turn[], turn: Turn, outline: Outline) {
    return findLine(lines, turn, (line, index) => this.#areSimilar(line, outline, index))
  }

  #areSimilar(line: Turn, now: Outline, index: number): boolean {
    const before = this.#outlines.get(line)?.messages[index]
    const current = now.messages[index]
    return before !== undefined && current !== undefined && similarity(textOf(before), textOf(current)) >= leastSimilarity
  }
}

/** Undefined: they were not heard in time. */
function inTime<Told>(answers: Promise<readonly Told[]> | undefined): Promise<readonly Told[] | undefined> {
  if (answers === undefined) return Promise.resolve([])
  return orAborted(answers, AbortSignal.timeout(longestAskMs)).catch(() => undefined)
}

function sizeOf({ messages }: Turn): number {
  return bytesOfTurn + 8 * messages.length
}

function sizeOfTexts({ tools, messages }: Outline): number {
  let size = bytesOfOutline
  for (const { json } of tools) size += bytesOfText + json.length
  for (const { parts } of messages) for (const { text } of parts) size += bytesOfText + text.length
  return size
}

function textOf({ parts }: OutlineMessage): string {
  return parts.map(({ text }) => text).join('')
}

/** A key of its parts, itself if it is about as short as its hash. */
function keyOf(...parts: readonly string[]): string {
  let text = ''
  for (const part of parts) text += `${part.length}:${part}`
  return text.length <= 64 ? text : hash('sha1', text, 'base64')
}
