import type { RequestContext } from '../contract/context.ts'
import type { DetokenizeRequest, RenderRequest, TokenizeRequest, Tokenizer } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import { withTicket } from './with-ticket.ts'

/** The tokens of a text or a conversation. Throws `queue-full` and what the engine refuses. */
export function tokenize(request: TokenizeRequest, context: RequestContext): Promise<readonly number[]> {
  return ask(context, (tokenizer) => tokenizer.tokenize(request, context.signal))
}

/** How many tokens a text or a conversation has. */
export function countTokens(request: TokenizeRequest, context: RequestContext): Promise<number> {
  return ask(context, (tokenizer) => tokenizer.count(request, context.signal))
}

/** The text of tokens, with those of control tokens where `special` says so. */
export function detokenize(request: DetokenizeRequest, context: RequestContext): Promise<string> {
  return ask(context, (tokenizer) => tokenizer.detokenize(request, context.signal))
}

/** The text that the model would be given for a conversation. */
export function render(request: RenderRequest, context: RequestContext): Promise<string> {
  return ask(context, (tokenizer) => tokenizer.render(request, context.signal))
}

function ask<T>(context: RequestContext, question: (tokenizer: Tokenizer) => Promise<T>): Promise<T> {
  return withTicket(context, async ({ id, engine, ticket }) => {
    await ticket.ready(context.signal)
    const { tokenizer } = engine.capabilities
    if (tokenizer !== undefined) return question(tokenizer)
    const message = `the engine of model '${id}' gives no access to its tokenizer; choose another model`
    throw new AppError('invalid-request', message, { at: ['model'] })
  })
}
