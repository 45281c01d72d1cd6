import type { ContentPart } from '../../contract/request.ts'
import { text } from './decode-blocks.ts'
import { type ServerResultBlock, textBlock } from './schema.ts'

/**
 * What a tool returned that Anthropic's servers ran in an assistant's turn: its texts, or else its JSON. What is encrypted, only
 * Anthropic's models read.
 */
export function decodeServerResult({ content }: ServerResultBlock): readonly ContentPart[] {
  if (typeof content === 'string') return [text(content)]
  if (content === undefined || content === null) return []
  const blocks = Array.isArray(content) ? content : [content]
  return blocks.map((block) => {
    const read = textBlock.safeParse(block)
    return text(read.success ? read.data.text : (JSON.stringify(block, withoutEncrypted) ?? ''))
  })
}

function withoutEncrypted(key: string, value: unknown): unknown {
  return key.startsWith('encrypted_') ? undefined : value
}
