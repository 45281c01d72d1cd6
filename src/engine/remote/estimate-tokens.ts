import type { ContentPart, GenerationRequest, Message, OutputPart } from '../../contract/request.ts'

/** What a template may add to a message and to the whole prompt. */
const perMessage = 64
const perPrompt = 256
/** The most tokens that common models make of an image. */
const perMedia = 4096
/** The assumed output of a request without a limit. */
const usualOutput = 512

/**
 * An upper bound of a request's tokens without a tokenizer: a token is at least a byte. For comparing loads, and for skipping
 * the count of what surely fits.
 */
export function estimateTokens({
  prompt,
  maxOutputTokens = usualOutput,
}: Pick<GenerationRequest, 'prompt' | 'maxOutputTokens'>): number {
  switch (prompt.type) {
    case 'tokens':
      return prompt.tokens.length + 1 + maxOutputTokens
    case 'text':
      return Buffer.byteLength(prompt.text) + 1 + maxOutputTokens
    case 'infill':
      return Buffer.byteLength(prompt.prefix) + Buffer.byteLength(prompt.suffix) + perPrompt + maxOutputTokens
    case 'chat': {
      // Templates write tools with more white space.
      const tools = prompt.tools.length === 0 ? 0 : 2 * Buffer.byteLength(JSON.stringify(prompt.tools))
      const messages = prompt.messages.reduce((sum, message) => sum + perMessage + sizeOf(message), 0)
      return perPrompt + tools + messages + Buffer.byteLength(prompt.responsePrefix) + maxOutputTokens
    }
  }
}

function sizeOf(message: Message): number {
  let size = 0
  for (const part of message.role === 'assistant' ? message.parts : message.content) size += sizeOfPart(part)
  return size
}

function sizeOfPart(part: ContentPart | OutputPart): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
    case 'refusal':
      return Buffer.byteLength(part.text)
    case 'tool-call':
      return 2 * Buffer.byteLength(part.input) + perMessage
    case 'tool-result':
      return part.content.reduce((sum, inner) => sum + sizeOfPart(inner), perMessage)
    case 'media':
      return perMedia
  }
}
