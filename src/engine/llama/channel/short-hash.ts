import { createHash } from 'node:crypto'

/** A hash for names, of 128 bits. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
