import { isFunctionTool } from '../../../../canonical/callable-tools.ts'
import { bytesOf } from '../../../../contract/media.ts'
import type { ContentPart, Message, OutputPart, Prompt, Tool } from '../../../../contract/request.ts'
import type { AffinityKey } from './affinity.ts'
import { hashOf, PrefixWalk } from './prefix-walk.ts'

type ChatPrompt = Extract<Prompt, { type: 'chat' }>

const lastTurns = 8
/** The ends of this many parts of a message are keys, the last ones. */
const lastParts = 8
const textBlock = 2048
const tokenBlock = 512
/** The size assumed for a medium, in characters: about a thousand tokens. */
const mediumSize = 4096

/**
 * Hashes of the prompt's prefixes, the longest first. A later turn of a conversation shares one of them with an earlier turn, which leads
 * to the replicas that have the prefix in their caches. The caller's own keys come last, for prompts that no replica has seen: the caller
 * promises that requests with the same key begin alike. A collision costs only a cache miss.
 */
export function affinityKeys(prompt: Prompt, callerKeys: readonly (string | undefined)[] = []): readonly AffinityKey[] {
  const keys: AffinityKey[] = prefixKeys(prompt)
  for (const key of callerKeys) {
    if (key !== undefined && key !== '') keys.push({ ...hashOf(`caller ${key}`), isOld: true })
  }
  return keys
}

function prefixKeys(prompt: Prompt): AffinityKey[] {
  switch (prompt.type) {
    case 'chat':
      return chatKeys(prompt)
    case 'text':
      return blockKeys(blocksOf(prompt.text, textBlock), (walk, block) => walk.text(block))
    case 'tokens':
      return blockKeys(blocksOf(prompt.tokens, tokenBlock), (walk, block) => walk.tokens(block))
    case 'infill':
      // As the user types, the text before the gap grows at its end.
      return blockKeys(blocksOf(prompt.prefix, textBlock), (walk, block) => walk.text(block))
  }
}

/**
 * The ends of the last turns, of the first question and of the system prompt. Inside of the system prompt, of the first question and of what
 * is new since the last request also the ends of parts, which include the breakpoints of Anthropic's clients, and of blocks: another
 * conversation may begin with the same document, or with a system prompt that ends differently.
 */
function chatKeys({ messages, tools }: ChatPrompt): AffinityKey[] {
  const { ends, previous, firstOther, firstQuestion } = turnsOf(messages)
  const walk = new PrefixWalk()
  walk.startBlocks(textBlock)
  if (tools.length > 0) walk.text(JSON.stringify(tools.filter(isListed)))
  for (const [index, message] of messages.entries()) {
    if (index === firstOther) walk.endSystem()
    if (index === firstQuestion + 1) walk.endBlocks()
    if (index === firstOther || index === Math.max(previous, firstQuestion) + 1) walk.startBlocks(textBlock)
    addMessage(walk, message, message.role !== 'assistant' && (index <= firstQuestion || index > previous))
    const isRoot = index === firstQuestion
    if (ends.has(index) || isRoot) walk.mark({ ...(isRoot && { isRoot }), ...(index === previous && { isPrevious: true }) })
  }
  return walk.keys()
}

/** Tools that are loaded later do not change a conversation's identity. */
function isListed(tool: Tool): boolean {
  return !isFunctionTool(tool) || tool.isDeferred !== true
}

type Turns = {
  /** Where requests of the conversation may have ended: before the replies of the last turns, and at the end. */
  readonly ends: ReadonlySet<number>
  /** Where the last request before this one ended; -1: this is the first. */
  readonly previous: number
  /** The first message after the system prompt. */
  readonly firstOther: number
  readonly firstQuestion: number
}

function turnsOf(messages: readonly Message[]): Turns {
  const isSystem = ({ role }: Message) => role === 'system' || role === 'developer'
  const found = messages.findIndex((message) => !isSystem(message))
  const firstOther = found === -1 ? messages.length : found
  const firstUser = messages.findIndex(({ role }) => role === 'user')
  const firstQuestion = firstUser === -1 ? messages.length - 1 : firstUser
  const ends = new Set<number>()
  let previous = -1
  for (let index = messages.length - 1; index >= firstOther && ends.size < lastTurns; index--) {
    const next = messages[index + 1]?.role
    const { role } = messages[index] as Message
    // No request ends after a reply, or between the results of parallel calls.
    if (role === 'assistant' ? next !== undefined : role === 'tool' && next === 'tool') continue
    ends.add(index)
    if (previous === -1 && next === 'assistant' && index >= firstQuestion) previous = index
  }
  return { ends, previous, firstOther, firstQuestion }
}

/** The last blocks, for a text that grows, and after blocks 1, 2, 4 and so on, for texts with a common beginning. */
function blockKeys<Block>(blocks: readonly Block[], add: (walk: PrefixWalk, block: Block) => void): AffinityKey[] {
  const walk = new PrefixWalk()
  for (const [index, block] of blocks.entries()) {
    add(walk, block)
    if (index >= blocks.length - lastTurns || Number.isInteger(Math.log2(index + 1)))
      walk.mark({ ...(index === 0 && { isRoot: true }) })
  }
  return walk.keys()
}

/** Skips ids, names and old reasoning: clients change them, and templates rarely render them. */
function addMessage(walk: PrefixWalk, message: Message, hasInner: boolean): void {
  walk.text(message.role)
  const parts = message.role === 'assistant' ? message.parts : message.content
  for (const [index, part] of parts.entries()) {
    addPart(walk, part)
    if (hasInner && index < parts.length - 1 && index >= parts.length - 1 - lastParts) walk.mark({})
  }
}

function addPart(walk: PrefixWalk, part: ContentPart | OutputPart): void {
  switch (part.type) {
    case 'text':
    case 'refusal':
      walk.text(part.text)
      break
    case 'reasoning':
      break
    case 'tool-call':
      walk.text(part.name)
      walk.text(part.input)
      break
    case 'tool-result':
      for (const inner of part.content) addPart(walk, inner)
      break
    case 'media':
      walk.medium(bytesOf(part).sha256, mediumSize)
  }
}

/** Divides into blocks. Equal prefixes give equal blocks, except for the last one. */
function blocksOf<Slice extends { readonly length: number; slice(start: number, end: number): Slice }>(
  whole: Slice,
  size: number,
): Slice[] {
  const blocks: Slice[] = []
  for (let start = 0; start < whole.length; start += size) blocks.push(whole.slice(start, start + size))
  return blocks
}
