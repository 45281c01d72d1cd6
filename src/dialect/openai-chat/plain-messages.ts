/** Whether every message is a text of a known role and nothing else. False says nothing: the schema decides. */
export function arePlainMessages(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isPlainMessage)
}

function isPlainMessage(message: unknown): boolean {
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return false
  const { role, content } = message as { readonly role?: unknown; readonly content?: unknown }
  if (typeof content !== 'string') return false
  if (role !== 'user' && role !== 'assistant' && role !== 'system' && role !== 'developer') return false
  return Object.keys(message).length === 2
}
