/** What the samples of several rows have in common. */
export const user = { role: 'user', content: 'hi' }
export const asked = { role: 'user', content: [{ type: 'text', text: 'hi' }] }
export const called = {
  role: 'assistant',
  tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
}
export const calls = { role: 'assistant', parts: [{ type: 'tool-call', id: 'c1', name: 'f', input: '{}' }] }
export const result = (toolCallId: string, more: object = {}) => ({
  role: 'tool',
  content: [{ type: 'text', text: 'r' }],
  toolCallId,
  ...more,
})
export const becomes = (...messages: readonly object[]) => ({ prompt: { messages } })
export const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } }
export const imagePart = byUrl('image', image.image_url.url)
export const tool = { type: 'function', function: { name: 'f' } }

/** Media as they are decoded. */
export function byUrl(kind: string, url: string) {
  return { type: 'media', kind, source: { type: 'url', url } }
}
