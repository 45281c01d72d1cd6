import { estimateMediaTokens } from '../canonical/media-tokens.ts'
import type { ContentPart, Message, OutputPart, Prompt } from '../contract/request.ts'

/** Usual for English text and code. */
const bytesPerToken = 4
/** The usual overhead of a template for a message. */
const tokensPerMessage = 4

/** An estimate of a prompt's tokens, without a tokenizer. */
export function estimatePrompt(prompt: Prompt): number {
  switch (prompt.type) {
    case 'text':
      return estimateText(prompt.text)
    case 'tokens':
      return prompt.tokens.length
    case 'infill':
      return estimateText(prompt.prefix) + estimateText(prompt.suffix)
    case 'chat': {
      const tools = prompt.tools.length === 0 ? 0 : Buffer.byteLength(JSON.stringify(prompt.tools)) / bytesPerToken
      return Math.ceil(prompt.messages.reduce((sum, message) => sum + tokensPerMessage + tokensOf(message), tools))
    }
  }
}

export function estimateText(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken)
}

function tokensOf(message: Message): number {
  const parts: readonly (ContentPart | OutputPart)[] = message.role === 'assistant' ? message.parts : message.content
  return parts.reduce((sum, part) => sum + tokensOfPart(part), 0)
}

function tokensOfPart(part: ContentPart | OutputPart): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
    case 'refusal':
      return Buffer.byteLength(part.text) / bytesPerToken
    case 'tool-call':
      return Buffer.byteLength(part.name + part.input) / bytesPerToken + tokensPerMessage
    case 'tool-result':
      return part.content.reduce((sum, inner) => sum + tokensOfPart(inner), tokensPerMessage)
    case 'media':
      return estimateMediaTokens(part)
  }
}
