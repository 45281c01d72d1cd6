/** What the samples of several rows have in common. */
export const user = { role: 'user', content: 'hi' }
export const text = { type: 'text', text: 'hi' }
export const asked = { role: 'user', content: [text] }
export const system = { role: 'system', content: [text] }
export const becomes = (...messages: readonly object[]) => ({ prompt: { messages } })
export const turn = (...content: readonly object[]) => ({ messages: [user, { role: 'assistant', content }, user] })
export const turnBecomes = (...parts: readonly object[]) => becomes(asked, { role: 'assistant', parts }, asked)
export const say = (...content: readonly object[]) => ({ messages: [{ role: 'user', content }] })
export const tool = { name: 'f', input_schema: { type: 'object' } }
export const called = { type: 'tool_use', id: 't1', name: 'f', input: {} }
export const call = { type: 'tool-call', id: 't1', name: 'f', input: '{}' }
export const png = { type: 'base64', media_type: 'image/png', data: 'QUJD' }
export const imagePart = {
  type: 'media',
  kind: 'image',
  source: { type: 'base64', base64: 'QUJD', mediaType: 'image/png' },
}
