import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client'
import { startOf } from '../../base/start-of.ts'
import type { ToolOutcome } from '../../contract/server-tool.ts'

const maxLength = 8000
const perhapsRun = 'The call may still have been carried out.'

/** The answer of a server as text: texts unchanged, other content by name, type and size. */
export function outcomeOf({ content = [], structuredContent, isError = false }: CallToolResult): ToolOutcome {
  const parts: string[] = []
  let length = 0
  for (const block of content) {
    if (length > maxLength) break
    const text = textOf(block)
    length += text.length
    parts.push(text)
  }
  // Servers repeat structured content as text for older clients, but not all do.
  const hasText = content.some(({ type }) => type === 'text')
  if (!hasText && structuredContent !== undefined) parts.push(JSON.stringify(structuredContent))
  const text = parts.filter((part) => part !== '').join('\n')
  const images = content.flatMap((block) => (block.type === 'image' ? [{ base64: block.data, mediaType: block.mimeType }] : []))
  return { text: text === '' ? '(no output)' : capped(text), isError, ...(images.length > 0 && { images }) }
}

/** The call could not be made. */
export function failedCall(why: string): ToolOutcome {
  const advice = 'Try once more if that may help, use another tool, or answer without it and say so.'
  return { text: `The tool failed: ${capped(why)}`, isError: true, advice }
}

/** The call was made, but its answer is lost: repeating it may carry it out twice. */
export function lostAnswer(why: string): ToolOutcome {
  const advice = 'Find out whether it was before you make the call again, or answer without it and say so.'
  return { text: `The tool failed: ${capped(why)}. ${perhapsRun}`, isError: true, advice }
}

/** The caller or its time limit has ended the call. */
export function cancelledCall(isSent: boolean): ToolOutcome {
  return { text: `The call was cancelled.${isSent ? ` ${perhapsRun}` : ''}`, isError: true }
}

function textOf(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'image':
      return `(image, ${block.mimeType}, ${bytesIn(block.data)} bytes)`
    case 'audio':
      return `(audio, ${block.mimeType}, ${bytesIn(block.data)} bytes: it is not shown to you)`
    case 'resource_link':
      return `(resource ${block.name}: ${block.uri}${block.description === undefined ? '' : `, ${block.description}`})`
    case 'resource': {
      const { resource } = block
      if ('text' in resource) return `(resource ${resource.uri})\n${resource.text}`
      return `(resource ${resource.uri}, ${resource.mimeType ?? 'binary'}, ${bytesIn(resource.blob)} bytes: it is not shown to you)`
    }
  }
}

function bytesIn(base64: string): number {
  return Buffer.byteLength(base64, 'base64')
}

function capped(text: string): string {
  if (text.length <= maxLength) return text
  const start = startOf(text, maxLength)
  return `${start}\n\n(The output is longer; these are its first ${start.length} characters.)`
}
