import { createHash } from 'node:crypto'

/** A hash for the names of files and folders. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
