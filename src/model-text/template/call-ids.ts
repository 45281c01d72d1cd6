import { createHash } from 'node:crypto'

/**
 * A call's id as templates of Mistral require it, nine letters and digits. An id of that form is kept. Others are hashed, so that
 * a call and its result still have the same id.
 */
export function nineCharacterId(id: string): string {
  if (/^[a-zA-Z0-9]{9}$/.test(id)) return id
  return createHash('sha256')
    .update(id)
    .digest('base64')
    .replace(/[^a-zA-Z0-9]/g, '')
    .slice(0, 9)
}
