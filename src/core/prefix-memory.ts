import { hash } from 'node:crypto'
import { listedTools } from '../contract/callable-tools.ts'
import type { CanonicalPath } from '../contract/field.ts'
import { bytesOf } from '../contract/media.ts'
import type { ContentPart, Message, OutputPart, Prompt } from '../contract/request.ts'
import { compareTurn, type TurnHashes } from './compare-turn.ts'

/** Lines of one session: agents run a title request or a subordinate agent beside the conversation. */
const maxLines = 8
const defaultMaxHashes = 200_000
/** Doubles hold this many bytes exactly. */
const hashBytes = 6
/** Shorter texts are hashed here: a call of the library costs more (measured: 1.3 µs, and 0.1 µs for a question of a line). */
const shortChars = 256

/** In place of a hash. */
const noTools = 0

type ChatPrompt = Extract<Prompt, { type: 'chat' }>

/** One turn of a conversation. */
export type Turn = {
  /** The id of the caller; what one caller sends says nothing to another. */
  readonly owner: string
  readonly model: string
  /** What the client calls its session; without it, the first question of a conversation stands for it. */
  readonly session?: string | undefined
  readonly prompt: ChatPrompt
}

type Options = {
  /** The most messages that are remembered, each as eight bytes. */
  readonly maxHashes?: number
  onDiverged?(model: string): void
}

/**
 * Remembers the last turn of each conversation as hashes, and finds the first message that a later turn changed: what follows it cannot
 * come from a prompt cache. The conversations that were quiet for the longest time are forgotten first.
 */
export class PrefixMemory {
  readonly #options: Options
  readonly #sessions = new Map<string, readonly TurnHashes[]>()
  #hashes = 0

  constructor(options: Options = {}) {
    this.#options = options
  }

  /** The first place that differs from the turn before; undefined for a first turn, and for one that goes on where the last one ended. */
  note({ owner, model, session, prompt }: Turn): CanonicalPath | undefined {
    const turn = hashTurn(prompt)
    const begun = session === undefined ? `?${turn.question}` : `=${session}`
    const key = short(`${owner.length}:${owner}${model.length}:${model}${begun}`)
    const known = this.#sessions.get(key) ?? []
    const { lines, diverged } = compareTurn(known, turn)
    this.#replace(key, lines.slice(0, maxLines))
    if (diverged === undefined) return undefined
    this.#options.onDiverged?.(model)
    return diverged === 'tools' ? ['prompt', 'tools'] : ['prompt', 'messages', diverged]
  }

  #replace(key: string, lines: readonly TurnHashes[]): void {
    this.#forget(key)
    this.#sessions.set(key, lines)
    this.#hashes += sizeOf(lines)
    for (const oldest of this.#sessions.keys()) {
      if (this.#hashes <= (this.#options.maxHashes ?? defaultMaxHashes)) return
      this.#forget(oldest)
    }
  }

  #forget(key: string): void {
    this.#hashes -= sizeOf(this.#sessions.get(key) ?? [])
    this.#sessions.delete(key)
  }
}

function sizeOf(lines: readonly TurnHashes[]): number {
  return lines.reduce((size, { messages }) => size + messages.length + 2, 0)
}

function hashTurn({ messages, tools }: ChatPrompt): TurnHashes {
  const hashes = messages.map(hashMessage)
  const question = messages.findIndex(({ role }) => role === 'user')
  return {
    tools: tools.length === 0 ? noTools : digest(JSON.stringify(listedTools(tools))),
    question: hashes[question] ?? 0,
    messages: hashes,
  }
}

/** Everything that a template may print, ids included. */
function hashMessage(message: Message): number {
  const texts: string[] = []
  addText(texts, message.role)
  addText(texts, message.name ?? '')
  if (message.role === 'tool') addText(texts, message.toolCallId)
  for (const part of message.role === 'assistant' ? message.parts : message.content) addPart(texts, part)
  return digest(texts.join(''))
}

function addPart(texts: string[], part: ContentPart | OutputPart): void {
  addText(texts, part.type)
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'reasoning':
      addText(texts, part.text)
      break
    case 'tool-call':
      addText(texts, part.id)
      addText(texts, part.name)
      addText(texts, part.input)
      break
    case 'tool-result':
      addText(texts, part.toolCallId)
      for (const inner of part.content) addPart(texts, inner)
      break
    case 'media':
      addText(texts, bytesOf(part).sha256)
      break
  }
}

/** With the length, so that two texts differ from their concatenation. */
function addText(texts: string[], text: string): void {
  texts.push(`${text.length}:`, text)
}

/** In one call: an object that collects pieces costs more than hashing a short message does. */
function digest(text: string): number {
  return text.length < shortChars ? mix(text) : hash('sha1', text, 'buffer').readUIntBE(0, hashBytes)
}

/** A hash of as many bits: FNV-1a, and a second sum that is shifted, too. A collision only hides that a message changed. */
function mix(text: string): number {
  let low = 0x811c9dc5
  let high = 0x1b873593
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    low = Math.imul(low ^ code, 0x01000193)
    high = Math.imul(high ^ code, 0x5bd1e995)
    high ^= high >>> 15
  }
  return (high & 0xffff) * 2 ** 32 + (low >>> 0)
}

/** The text itself while it is about as short as its hash. */
function short(text: string): string {
  return text.length <= 64 ? text : hash('sha1', text, 'base64')
}
