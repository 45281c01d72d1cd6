import { isObject } from '../../base/json.ts'
import type { ChatWire } from './schema.ts'

/**
 * Whether a body is as simple as possible: a model, texts of known roles, `stream`, and nothing else. The schema would accept it unchanged,
 * after a twentieth of a short request's time. False proves nothing: the schema decides.
 */
export function isPlainBody(body: unknown): body is ChatWire {
  if (!isObject(body)) return false
  const { model, messages, stream } = body
  if (typeof model !== 'string' || model === '' || !Array.isArray(messages) || messages.length === 0) return false
  if (stream !== undefined && typeof stream !== 'boolean') return false
  return Object.keys(body).length === (stream === undefined ? 2 : 3) && messages.every(isPlainMessage)
}

function isPlainMessage(message: unknown): boolean {
  if (!isObject(message)) return false
  const { role, content } = message
  if (typeof content !== 'string' || Object.keys(message).length !== 2) return false
  return role === 'user' || role === 'assistant' || role === 'system' || role === 'developer'
}
