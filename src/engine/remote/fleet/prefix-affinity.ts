import { createHash, type Hash } from 'node:crypto'
import { isFunctionTool } from '../../../canonical/callable-tools.ts'
import { bytesOf } from '../../../contract/media.ts'
import type { ContentPart, Message, OutputPart, Prompt, Tool } from '../../../contract/request.ts'

const maxKeys = 8
const textBlock = 2048
const tokenBlock = 512

/**
 * Hashes of the prompt's prefixes, the longest first, at most eight. A later turn of a conversation shares one of them with an
 * earlier turn, which leads to the replica that has the prefix in its cache. Last comes the caller's own key, for prompts that no replica
 * has read: the caller says that requests with the same one begin alike. Collisions only cost a cache miss.
 */
export function affinityKeys(prompt: Prompt, promptCacheKey?: string): readonly string[] {
  const keys = prefixKeys(prompt)
  return promptCacheKey === undefined || promptCacheKey === '' ? keys : [...keys, `caller ${digest(promptCacheKey)}`]
}

function digest(text: string): string {
  return createHash('sha1').update(text).digest('base64')
}

function prefixKeys(prompt: Prompt): readonly string[] {
  switch (prompt.type) {
    case 'chat': {
      const start = createHash('sha1').update(JSON.stringify(prompt.tools.filter(isListed)))
      return keysOf(start, prompt.messages, addMessage)
    }
    case 'text':
      return keysOf(createHash('sha1'), blocksOf(prompt.text, textBlock), addText)
    case 'tokens':
      return keysOf(createHash('sha1'), blocksOf(prompt.tokens, tokenBlock), (hash, block) => {
        hash.update(Uint32Array.from(block))
      })
    case 'infill':
      // While a user types, the text before the gap grows at its end.
      return keysOf(createHash('sha1'), blocksOf(prompt.prefix, textBlock), addText)
  }
}

/** Tools that a conversation loads later do not change what it is. */
function isListed(tool: Tool): boolean {
  return !isFunctionTool(tool) || tool.isDeferred !== true
}

/** Hashes all steps; the keys are the states after each of the last ones. */
function keysOf<Step>(hash: Hash, steps: readonly Step[], add: (hash: Hash, step: Step) => void): string[] {
  const keys: string[] = []
  for (const [index, step] of steps.entries()) {
    add(hash, step)
    if (index >= steps.length - maxKeys) keys.push(hash.copy().digest('base64'))
  }
  return keys.reverse()
}

/** Without ids, names and old reasoning: clients change them, and templates seldom render them. */
function addMessage(hash: Hash, message: Message): void {
  addText(hash, message.role)
  for (const part of message.role === 'assistant' ? message.parts : message.content) addPart(hash, part)
}

function addPart(hash: Hash, part: ContentPart | OutputPart): void {
  switch (part.type) {
    case 'text':
    case 'refusal':
      addText(hash, part.text)
      return
    case 'reasoning':
      return
    case 'tool-call':
      addText(hash, part.name)
      addText(hash, part.input)
      return
    case 'tool-result':
      for (const inner of part.content) addPart(hash, inner)
      return
    case 'media':
      addText(hash, bytesOf(part).sha256)
      return
  }
}

function addText(hash: Hash, text: string): void {
  // With the length, so that two texts differ from their concatenation.
  hash.update(`${text.length}:`).update(text)
}

/** Equal prefixes give equal blocks, except for the last. */
function blocksOf<Slice extends { readonly length: number; slice(start: number, end: number): Slice }>(
  whole: Slice,
  size: number,
): Slice[] {
  const blocks: Slice[] = []
  for (let start = 0; start < whole.length; start += size) blocks.push(whole.slice(start, start + size))
  return blocks
}
