import type { ContentPart, GenerationRequest, Message, OutputPart, Prompt } from '../../contract/request.ts'

/** The sizes of the parts of a prompt, besides the bytes of its texts. */
type Additions = { readonly perPrompt: number; readonly perMessage: number; readonly perMedia: number; readonly perJson: number }

/** Upper bounds: the additions of templates, JSON with more white space, and the most tokens that common models use for an image. */
const most: Additions = { perPrompt: 256, perMessage: 64, perMedia: 4096, perJson: 2 }
/** An image takes some thousand tokens of four bytes. */
const usual: Additions = { perPrompt: 0, perMessage: 16, perMedia: 4096, perJson: 1 }
/** The assumed output of a request without a limit. */
const usualOutput = 512

/**
 * An upper bound of a request's tokens that needs no tokenizer, because a token is at least one byte. Requests that fit by this bound need
 * no count.
 */
export function estimateTokens({
  prompt,
  maxOutputTokens = usualOutput,
}: Pick<GenerationRequest, 'prompt' | 'maxOutputTokens'>): number {
  return sizeOfPrompt(prompt, most) + maxOutputTokens
}

/** The size of a prompt in bytes, to which its number of tokens is nearly proportional. */
export function promptBytes(prompt: Prompt): number {
  return sizeOfPrompt(prompt, usual)
}

function sizeOfPrompt(prompt: Prompt, additions: Additions): number {
  switch (prompt.type) {
    case 'tokens':
      return prompt.tokens.length + 1
    case 'text':
      return Buffer.byteLength(prompt.text) + 1
    case 'infill':
      return Buffer.byteLength(prompt.prefix) + Buffer.byteLength(prompt.suffix) + additions.perPrompt
    case 'chat': {
      const { perPrompt, perJson, perMessage } = additions
      const tools = prompt.tools.length === 0 ? 0 : perJson * Buffer.byteLength(JSON.stringify(prompt.tools))
      const messages = prompt.messages.reduce((sum, message) => sum + perMessage + sizeOf(message, additions), 0)
      return perPrompt + tools + messages + Buffer.byteLength(prompt.responsePrefix)
    }
  }
}

function sizeOf(message: Message, additions: Additions): number {
  let size = 0
  for (const part of message.role === 'assistant' ? message.parts : message.content) size += sizeOfPart(part, additions)
  return size
}

function sizeOfPart(part: ContentPart | OutputPart, additions: Additions): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
    case 'refusal':
      return Buffer.byteLength(part.text)
    case 'tool-call':
      return additions.perJson * Buffer.byteLength(part.input) + additions.perMessage
    case 'tool-result':
      return part.content.reduce((sum, inner) => sum + sizeOfPart(inner, additions), additions.perMessage)
    case 'media':
      return additions.perMedia
  }
}
