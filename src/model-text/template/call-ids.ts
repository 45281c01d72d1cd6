import { createHash } from 'node:crypto'

/**
 * A call's id as templates of Mistral demand it, nine letters and digits. One that is so already stays; another always gives
 * the same, so that a call and its result still belong together.
 */
export function nineCharacterId(id: string): string {
  if (/^[a-zA-Z0-9]{9}$/.test(id)) return id
  return createHash('sha256')
    .update(id)
    .digest('base64')
    .replace(/[^a-zA-Z0-9]/g, '')
    .slice(0, 9)
}
