import { createHmac } from 'node:crypto'

/**
 * Names for sessions. Equal texts with the same key get equal names; without the key, a name does not reveal the text. 22 characters of
 * base64url.
 */
export function namesWith(key: Uint8Array): (text: string) => string {
  return (text) => createHmac('sha256', key).update(text).digest('base64url').slice(0, 22)
}
