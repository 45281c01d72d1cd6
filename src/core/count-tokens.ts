import type { RequestContext } from '../contract/context.ts'
import type { TokenizeRequest } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { ContentPart, Message, OutputPart } from '../contract/request.ts'
import { withoutCustomTools, withTokenizer } from './use-tokenizer.ts'

/** The tokens of a prompt; an estimate where the engine has no tokenizer that we can use. */
export type TokenCount = { readonly inputTokens: number; readonly isEstimate: boolean }

type CountRequest = Pick<TokenizeRequest, 'reasoning' | 'toolChoice'> & {
  readonly prompt: Extract<TokenizeRequest['prompt'], { type: 'chat' }>
}

/** What common tokenizers make of English text and code. */
const bytesPerToken = 4
/** What common templates write around a message. */
const tokensPerMessage = 4
/** What common models make of an image. */
const tokensPerMedia = 1024

/** Counts the prompt of a conversation. Rejects with `queue-full` and the engine's refusals of the conversation. */
export async function countTokens(request: CountRequest, context: RequestContext): Promise<TokenCount> {
  try {
    const conversation = { ...withoutCustomTools(request), addBos: true, parseSpecial: true }
    const inputTokens = await withTokenizer(context, (tokenizer) => tokenizer.count(conversation, context.signal))
    return { inputTokens, isEstimate: false }
  } catch (error) {
    if (!hasNoTokenizer(error)) throw error
    return { inputTokens: estimate(request), isEstimate: true }
  }
}

/** A model that is down is another matter. */
function hasNoTokenizer(error: unknown): boolean {
  if (!(error instanceof AppError) || error.at?.[0] !== 'model') return false
  return error.code === 'unsupported-field' || error.code === 'invalid-request'
}

function estimate({ prompt }: CountRequest): number {
  const tools = prompt.tools.length === 0 ? 0 : Buffer.byteLength(JSON.stringify(prompt.tools)) / bytesPerToken
  const messages = prompt.messages.reduce((sum, message) => sum + tokensPerMessage + tokensOf(message), 0)
  return Math.ceil(tools + messages)
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
      return tokensPerMedia
  }
}
