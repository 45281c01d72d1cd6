import { createHash } from 'node:crypto'
import type { RequestContext } from '../../contract/context.ts'
import type { GenerationRequest, Prompt } from '../../contract/request.ts'

/** How much of a text without turns identifies its conversation, in characters. */
const beginning = 256

/**
 * A number from 0 to below 1, equal for all turns of a conversation, and spread evenly over conversations. `use` makes different uses of it
 * independent. A conversation is identified by the caller's session or, without one, by its first user message.
 */
export function conversationShare(
  { prompt, forwarded }: Pick<GenerationRequest, 'prompt' | 'forwarded'>,
  { principal, session = forwarded?.promptCacheKey }: Pick<RequestContext, 'principal' | 'session'>,
  use: string,
): number {
  const conversation = session ?? startOf(prompt)
  const hash = createHash('sha256').update(JSON.stringify([use, principal.id, session === undefined, conversation]))
  return hash.digest().readUIntBE(0, 6) / 2 ** 48
}

function startOf(prompt: Prompt): string {
  switch (prompt.type) {
    case 'chat': {
      const first = prompt.messages.find(({ role }) => role === 'user')
      return first?.role === 'user' ? first.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n') : ''
    }
    case 'text':
      return prompt.text.slice(0, beginning)
    case 'tokens':
      return prompt.tokens.slice(0, beginning).join()
    case 'infill':
      return prompt.prefix.slice(0, beginning)
  }
}
