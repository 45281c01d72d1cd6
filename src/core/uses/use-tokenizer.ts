import type { RequestContext } from '../../contract/context.ts'
import type { DetokenizeRequest, RenderRequest, TokenizeRequest, Tokenizer, TokenPiece } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import { field } from '../../contract/field.ts'
import type { MediaReader } from '../../contract/media.ts'
import type { Prompt } from '../../contract/request.ts'
import { withChatDefaults } from '../chat-defaults.ts'
import { asFunctions } from '../custom-tools/function-prompt.ts'
import { refuseUnread } from '../media/refuse-unread.ts'
import { withMedia } from '../media/with-media.ts'
import { type TemplateDeps, withTemplate } from '../templates/with-template.ts'
import { type TicketedModel, withTicket } from './with-ticket.ts'

type TokenizerDeps = TemplateDeps & { readonly media?: MediaReader }

/** The tokens of a text or a conversation. Rejects with `queue-full` and the engine's refusals. */
export async function tokenize(deps: TokenizerDeps, asked: TokenizeRequest, context: RequestContext): Promise<readonly number[]> {
  const request = await withTemplate(deps, asked, context)
  return withTokenizerFor(deps, { request, context }, (tokenizer) => {
    tokenizer.checkTokens?.(request)
    return withMedia(deps, { request, caller: context }, async (complete) =>
      tokenizer.tokenize(asEnginesGetIt(complete, context), context.signal),
    )
  })
}

/** As `tokenize`, with the bytes of each token. Rejects with `unsupported-field` at `pieces` if the engine does not know them. */
export function pieces(deps: TokenizerDeps, request: TokenizeRequest, context: RequestContext): Promise<readonly TokenPiece[]> {
  return withTokenizerFor(deps, { request, context }, async (tokenizer) => {
    if (tokenizer.pieces !== undefined) return tokenizer.pieces(asEnginesGetIt(request, context), context.signal)
    const message = `${field('pieces')} true: the engine of this model does not report the texts of tokens`
    throw new AppError('unsupported-field', message, { at: ['pieces'] })
  })
}

/** The text of tokens; with `special`, including the text of control tokens. */
export function detokenize(request: DetokenizeRequest, context: RequestContext): Promise<string> {
  return withTokenizer(context, (tokenizer) => tokenizer.detokenize(request, context.signal))
}

/** The prompt text of a conversation, rendered with the model's template. */
export async function render(deps: TokenizerDeps, asked: RenderRequest, context: RequestContext): Promise<string> {
  const request = await withTemplate(deps, asked, context)
  return withTokenizerFor(deps, { request, context }, (tokenizer) =>
    withMedia(deps, { request, caller: context }, async (complete) =>
      tokenizer.render(asEnginesGetIt(complete, context), context.signal),
    ),
  )
}

/** The conversation in the form for engines: with functions for custom tools, and with the operator's defaults of the model. */
export function asEnginesGetIt<R extends Pick<TokenizeRequest, 'prompt' | 'reasoning'>>(request: R, context: RequestContext): R {
  const known = withChatDefaults(request, context.model.chat)
  const { prompt } = known
  return prompt.type === 'chat' ? { ...known, prompt: asFunctions(prompt) } : known
}

/** Runs work with the tokenizer of a model. Rejects with `invalid-request` at `model` for an engine without one. */
export function withTokenizer<T>(context: RequestContext, work: (tokenizer: Tokenizer) => Promise<T>): Promise<T> {
  return withTokenizerFor({}, { context }, work)
}

type Tokenizing = { readonly request?: { readonly prompt: Prompt }; readonly context: RequestContext }

/** As `withTokenizer`, for a prompt; rejects with `unsupported-field` for media that the model cannot read. */
export function withTokenizerFor<T>(
  { media }: Pick<TokenizerDeps, 'media'>,
  { request, context }: Tokenizing,
  work: (tokenizer: Tokenizer) => Promise<T>,
): Promise<T> {
  const run = async ({ id, engine, ticket }: TicketedModel) => {
    const ready = () => ticket.ready(context.signal)
    if (request !== undefined) await refuseUnread(request, { engine, ready, media })
    await ready()
    const { tokenizer } = engine.capabilities
    if (tokenizer !== undefined) return work(tokenizer)
    const message = `the engine of model '${id}' has no accessible tokenizer; choose another model`
    throw new AppError('invalid-request', message, { at: ['model'] })
  }
  return withTicket(context, run, 'free')
}
