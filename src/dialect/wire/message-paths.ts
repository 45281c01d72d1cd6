import type { CanonicalPath } from '../../contract/field.ts'
import type { Message } from '../../contract/request.ts'
import { formatRest } from './field-names.ts'
import { nameInPart } from './media-part.ts'

/** The original places of a canonical message and of its parts. */
export type MessagePaths = { readonly message: string; readonly parts: readonly string[] }

/**
 * A conversation in canonical form, with its original places. Decoders record both together, so that no code has to reconstruct the places.
 */
export type DecodedMessages = { readonly messages: readonly Message[]; readonly paths: readonly MessagePaths[] }

/** The caller's name for a path below `prompt.messages`; undefined for one that leads to no message. */
export function nameMessage(wire: object, paths: readonly MessagePaths[], path: CanonicalPath): string | undefined {
  const [root, second, index, list, position, ...rest] = path
  if (root !== 'prompt' || second !== 'messages' || typeof index !== 'number') return undefined
  const message = paths[index]
  if (message === undefined) return undefined
  const part = typeof position === 'number' ? message.parts[position] : undefined
  if (part !== undefined) return part + nameInPart(wire, part, rest)
  return list === 'name' ? message.message + formatRest(path.slice(3)) : message.message
}
