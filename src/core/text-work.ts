import type { Engine, RenderRequest, TokenizeRequest } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { GenerateDeps } from './generate.ts'
import { withPlace } from './with-place.ts'

/** The model as the caller named it, and until when its answer is wanted. */
export type AskOptions = { readonly model: string; readonly signal: AbortSignal }

/** The tokens of a text or a conversation. Throws `model-not-found`, `queue-full` and what the engine refuses. */
export function tokenize(deps: GenerateDeps, request: TokenizeRequest, options: AskOptions): Promise<readonly number[]> {
  return ask(deps, options, (engine) => engine.tokenize?.(request, options.signal))
}

/** The text of tokens, with those of control tokens where `special` says so. */
export function detokenize(
  deps: GenerateDeps,
  request: { readonly tokens: readonly number[]; readonly special: boolean },
  options: AskOptions,
): Promise<string> {
  return ask(deps, options, (engine) => engine.detokenize?.(request, options.signal))
}

/** The text that the model would be given for a conversation. */
export function render(deps: GenerateDeps, request: RenderRequest, options: AskOptions): Promise<string> {
  return ask(deps, options, (engine) => engine.render?.(request, options.signal))
}

function ask<T>(
  deps: GenerateDeps,
  { model, signal }: AskOptions,
  question: (engine: Engine) => Promise<T> | undefined,
): Promise<T> {
  return withPlace(deps, model, async ({ id, engine }) => {
    await engine.ensureReady(signal)
    const answer = question(engine)
    if (answer !== undefined) return answer
    const message = `the engine of model '${id}' has no tokenizer that could be asked; choose another model`
    throw new AppError('invalid-request', message, { param: 'model' })
  })
}
