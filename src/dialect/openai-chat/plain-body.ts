import type { ChatWire } from './schema.ts'

/**
 * Whether a body is the simplest there is: a model, texts of known roles, `stream`, and nothing else. The schema would accept it as it
 * is, and takes a twentieth of a short request's time to say so. False means nothing: the schema decides.
 */
export function isPlainBody(body: unknown): body is ChatWire {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return false
  const { model, messages, stream } = body as Readonly<Record<string, unknown>>
  if (typeof model !== 'string' || model === '' || !Array.isArray(messages) || messages.length === 0) return false
  if (stream !== undefined && typeof stream !== 'boolean') return false
  return Object.keys(body).length === (stream === undefined ? 2 : 3) && messages.every(isPlainMessage)
}

function isPlainMessage(message: unknown): boolean {
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return false
  const { role, content } = message as Readonly<Record<string, unknown>>
  if (typeof content !== 'string' || Object.keys(message).length !== 2) return false
  return role === 'user' || role === 'assistant' || role === 'system' || role === 'developer'
}
