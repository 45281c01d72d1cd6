/** The text of a whole reply in any protocol, or the reply itself. */
export function replyText(reply: Readonly<Record<string, unknown>>): string {
  const found = textsIn(reply.choices ?? reply.output ?? reply.content ?? reply.message ?? reply.response)
  return found === '' ? JSON.stringify(reply, null, 2) : found
}

/** The texts of choices, items and parts, in order. */
function textsIn(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.map(textsIn).join('')
  if (typeof value !== 'object' || value === null) return ''
  const { message, text, content } = value as Readonly<Record<string, unknown>>
  return textsIn(message ?? text ?? content)
}
