import { createHash, type Hash } from 'node:crypto'
import type { ContentPart, Message, Prompt } from '../../../contract/request.ts'

const maxKeys = 8
const textBlock = 2048
const tokenBlock = 512
const mediaSample = 4096

/**
 * Keys of the prompt's prefixes, the longest first: a later turn of the same conversation has one of them in common with an
 * earlier one, so that a replica which has read that prefix can be found again. At most eight; two prompts with a key in
 * common need not be equal.
 */
export function affinityKeys(prompt: Prompt): readonly string[] {
  switch (prompt.type) {
    case 'chat': {
      const start = createHash('sha1').update(JSON.stringify(prompt.tools))
      return keysOf(start, prompt.messages, addMessage)
    }
    case 'text':
      return keysOf(createHash('sha1'), blocksOf(prompt.text, textBlock), addText)
    case 'tokens':
      return keysOf(createHash('sha1'), blocksOf(prompt.tokens, tokenBlock), (hash, block) => {
        hash.update(Uint32Array.from(block))
      })
    case 'infill':
      // While somebody types, the text before the gap grows at its end; the text behind it stays.
      return keysOf(createHash('sha1'), blocksOf(prompt.prefix, textBlock), addText)
  }
}

/** Reads every step once, and takes a copy of the hash after each of the last. */
function keysOf<Step>(hash: Hash, steps: readonly Step[], add: (hash: Hash, step: Step) => void): string[] {
  const keys: string[] = []
  for (const [index, step] of steps.entries()) {
    add(hash, step)
    if (index >= steps.length - maxKeys) keys.push(hash.copy().digest('base64'))
  }
  return keys.reverse()
}

/** Ids, names and old reasoning are left out: callers do not repeat them faithfully, and templates seldom render them. */
function addMessage(hash: Hash, message: Message): void {
  addText(hash, message.role)
  for (const part of message.content) addPart(hash, part)
  if (message.role !== 'assistant') return
  for (const call of message.toolCalls) {
    addText(hash, call.name)
    addText(hash, call.arguments)
  }
}

function addPart(hash: Hash, part: ContentPart): void {
  switch (part.type) {
    case 'text':
      addText(hash, part.text)
      return
    case 'image':
      addMedia(hash, part.url)
      return
    case 'audio':
      addMedia(hash, part.data)
      return
  }
}

function addText(hash: Hash, text: string): void {
  // The length keeps two texts apart from one that is both.
  hash.update(`${text.length}:`).update(text)
}

/** Megabytes of base64 need not be read to be told apart well enough for a preference. */
function addMedia(hash: Hash, text: string): void {
  const sample = text.length <= 2 * mediaSample ? text : text.slice(0, mediaSample) + text.slice(-mediaSample)
  hash.update(`${text.length}:`).update(sample)
}

/** Equal beginnings give equal blocks, except for the last. */
function blocksOf<Slice extends { readonly length: number; slice(start: number, end: number): Slice }>(
  whole: Slice,
  size: number,
): Slice[] {
  const blocks: Slice[] = []
  for (let start = 0; start < whole.length; start += size) blocks.push(whole.slice(start, start + size))
  return blocks
}
