import type { GenerationRequest, Message } from '../../contract/request.ts'

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
  for (const part of message.content) size += part.type === 'text' ? Buffer.byteLength(part.text) : perMedia
  if (message.role !== 'assistant') return size
  for (const call of message.toolCalls) size += 2 * Buffer.byteLength(call.arguments) + perMessage
  return size + Buffer.byteLength(message.reasoning ?? '')
}
