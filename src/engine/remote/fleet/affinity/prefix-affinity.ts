import { createHash, type Hash } from 'node:crypto'
import { isFunctionTool } from '../../../../canonical/callable-tools.ts'
import { bytesOf } from '../../../../contract/media.ts'
import type { ContentPart, Message, OutputPart, Prompt, Tool } from '../../../../contract/request.ts'
import type { AffinityKey } from './affinity.ts'

const lastTurns = 8
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
    if (key !== undefined && key !== '') keys.push(keyOf(createHash('sha1').update(`caller ${key}`)))
  }
  return keys
}

function prefixKeys(prompt: Prompt): AffinityKey[] {
  switch (prompt.type) {
    case 'chat': {
      const tools = JSON.stringify(prompt.tools.filter(isListed))
      const start = { hash: createHash('sha1').update(tools), size: tools.length }
      const ends = turnEnds(prompt.messages)
      const isKey = (index: number) => ends.has(index) && (index >= 0 || prompt.tools.length > 0)
      return keysOf(start, prompt.messages, { add: addMessage, isKey })
    }
    case 'text':
      return blockKeys(blocksOf(prompt.text, textBlock), addText)
    case 'tokens':
      return blockKeys(blocksOf(prompt.tokens, tokenBlock), (hash, block) => {
        hash.update(Uint32Array.from(block))
        return block.length
      })
    case 'infill':
      // As the user types, the text before the gap grows at its end.
      return blockKeys(blocksOf(prompt.prefix, textBlock), addText)
  }
}

/** Tools that are loaded later do not change a conversation's identity. */
function isListed(tool: Tool): boolean {
  return !isFunctionTool(tool) || tool.isDeferred !== true
}

/**
 * The positions where earlier requests of the conversation ended: before the replies of the last turns. Also the end of the system prompt,
 * which other conversations share: -1 if there are only tools.
 */
function turnEnds(messages: readonly Message[]): ReadonlySet<number> {
  const ends = new Set<number>()
  for (let index = messages.length - 1; index >= 0 && ends.size < lastTurns; index--) {
    const next = messages[index + 1]?.role
    const { role } = messages[index] as Message
    // No request ends after a reply, or between the results of parallel calls.
    if (next === undefined || (role !== 'assistant' && !(role === 'tool' && next === 'tool'))) ends.add(index)
  }
  const firstOther = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer')
  ends.add((firstOther === -1 ? messages.length : firstOther) - 1)
  return ends
}

/** The last blocks, for a text that grows, and after blocks 1, 2, 4 and so on, for texts with a common beginning. */
function blockKeys<Step>(blocks: readonly Step[], add: (hash: Hash, step: Step) => number): AffinityKey[] {
  const isKey = (index: number) => index >= 0 && (index >= blocks.length - lastTurns || Number.isInteger(Math.log2(index + 1)))
  return keysOf({ hash: createHash('sha1'), size: 0 }, blocks, { add, isKey })
}

type Walk<Step> = {
  /** Hashes a step and returns its size. */
  add(hash: Hash, step: Step): number
  /** Whether the prefix up to this step is a key; -1 is the state before all steps. */
  isKey(index: number): boolean
}

/** Hashes all steps. The keys are the states after some of them. */
function keysOf<Step>(
  start: { readonly hash: Hash; readonly size: number },
  steps: readonly Step[],
  { add, isKey }: Walk<Step>,
): AffinityKey[] {
  const { hash } = start
  let { size } = start
  const ends: (AffinityKey & { readonly size: number })[] = []
  if (isKey(-1)) ends.push({ size, ...keyOf(hash.copy()) })
  for (const [index, step] of steps.entries()) {
    size += add(hash, step)
    if (isKey(index)) ends.push({ size, ...keyOf(hash.copy()) })
  }
  return ends.reverse().map(({ size: end, high, low }) => ({ high, low, share: size === 0 ? 1 : end / size }))
}

function keyOf(hash: Hash): AffinityKey {
  const digest = hash.digest()
  return { high: digest.readUInt32LE(0), low: digest.readUInt32LE(4) }
}

/** Skips ids, names and old reasoning: clients change them, and templates rarely render them. */
function addMessage(hash: Hash, message: Message): number {
  let size = addText(hash, message.role)
  for (const part of message.role === 'assistant' ? message.parts : message.content) size += addPart(hash, part)
  return size
}

function addPart(hash: Hash, part: ContentPart | OutputPart): number {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return addText(hash, part.text)
    case 'reasoning':
      return 0
    case 'tool-call':
      return addText(hash, part.name) + addText(hash, part.input)
    case 'tool-result': {
      let size = 0
      for (const inner of part.content) size += addPart(hash, inner)
      return size
    }
    case 'media':
      addText(hash, bytesOf(part).sha256)
      return mediumSize
  }
}

function addText(hash: Hash, text: string): number {
  // Includes the length, so that the concatenation of two texts has another hash than the two.
  hash.update(`${text.length}:`).update(text)
  return text.length
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
