import { AppError } from '../../contract/errors.ts'
import { type CanonicalPath, field } from '../../contract/field.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import { refuseMedia } from '../refuse-media.ts'

/** Throws `unsupported-field` for what only a multimodal engine reads. */
export function refuseNonText(request: Pick<GenerationRequest, 'prompt'>, model: string): void {
  refuseMedia(
    request,
    () => false,
    (kind) =>
      `model '${model}' runs on the embedded engine, which reads text only; this message has a part of type '${kind}'. ` +
      'Serve a multimodal model with a llama-server engine instead',
  )
}

/** Throws `invalid-request` for a token that the model does not have, in the prompt or in the bias. */
export function refuseUnknownTokens({ prompt, sampling }: GenerationRequest, vocabularySize: number): void {
  for (const [index, id] of prompt.type === 'tokens' ? prompt.tokens.entries() : []) {
    if (id >= 0 && id < vocabularySize) continue
    const message = `the prompt's token ${index} is ${id}, but the model's vocabulary ends at ${vocabularySize - 1}`
    throw new AppError('invalid-request', message, { at: ['prompt', 'tokens', index] })
  }
  for (const id of sampling.logitBias?.keys() ?? []) {
    if (id < vocabularySize) continue
    const message = `${field('sampling', 'logitBias')} names token ${id}, but the model's vocabulary ends at ${vocabularySize - 1}`
    throw new AppError('invalid-request', message, { at: ['sampling', 'logitBias'] })
  }
}

/** Throws `unsupported-field` where temperature would have to come before the other samplers, which llama.cpp's chain has before it. */
export function refuseTemperatureFirst(
  { sampling }: Pick<GenerationRequest, 'sampling'>,
  { temperature }: { readonly temperature: number },
): void {
  if (sampling.temperatureLast !== false || temperature === 0 || temperature === 1) return
  const name = field('sampling', 'temperatureLast')
  const message = `${name} false is not supported: the embedded engine applies temperature last; send true, or temperature 1`
  throw new AppError('unsupported-field', message, { at: ['sampling', 'temperatureLast'] })
}

/** Throws `invalid-request` for an id that is not a token of the model. */
export function refuseUnknownIds(
  tokens: readonly number[],
  { vocabularySize, at }: { readonly vocabularySize: number; readonly at: CanonicalPath },
): void {
  const index = tokens.findIndex((id) => id < 0 || id >= vocabularySize)
  if (index === -1) return
  const message = `${field(...at, index)} is ${tokens[index]}, but the model's vocabulary ends at ${vocabularySize - 1}`
  throw new AppError('invalid-request', message, { at })
}
