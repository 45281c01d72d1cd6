import { crc32 } from 'node:zlib'
import { z } from 'zod'
import type { Outline, OutlineMessage } from './outline.ts'

/** One turn of a conversation, as hashes with lengths. */
export type Turn = z.output<typeof turnSchema>

export const turnSchema = z
  .object({
    model: z.string(),
    tools: z.number(),
    settings: z.number(),
    /** The user's first message. */
    question: z.number(),
    /** Those of the assistant are negative. */
    messages: z.array(z.number()).readonly(),
  })
  .readonly()

export function turnOf(model: string, { tools, settings, messages }: Outline): Turn {
  const hashes = messages.map(hashMessage)
  const question = messages.findIndex(({ role }) => role === 'user')
  return {
    model,
    tools: tools.length === 0 ? digest('') : digest(tools.map(({ json }) => json).join('\n')),
    settings: digest(JSON.stringify(settings)),
    question: hashes[question] ?? 0,
    messages: hashes,
  }
}

/** The characters of what a hash stands for. */
export function lengthOf(hash: number): number {
  return Math.floor(Math.abs(hash) / 2 ** 32)
}

/** The number of messages that two turns begin with. */
export function commonLength({ messages: first }: Turn, { messages: second }: Turn): number {
  let common = 0
  while (common < first.length && first[common] === second[common]) common += 1
  return common
}

/** Includes everything that a template may print, such as ids. */
function hashMessage({ role, name, parts }: OutlineMessage): number {
  let text = delimited(role) + delimited(name)
  for (const { type, text: inner, id } of parts) text += delimited(type) + delimited(inner) + delimited(id ?? '')
  return role === 'assistant' ? -digest(text) : digest(text)
}

/** With the length, so that two texts differ from their concatenation. */
function delimited(text: string): string {
  return `${text.length}:${text}`
}

/**
 * A checksum of 32 bits, and 20 bits of the length. A collision only hides that a message changed, and no hash of Node is faster (measured
 * for 256 and 4,096 characters: 0.3 and 1.3 µs; SHA-1: 0.6 and 2.8 µs).
 */
function digest(text: string): number {
  return (text.length % 2 ** 20) * 2 ** 32 + crc32(text)
}
