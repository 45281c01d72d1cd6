import { AppError } from '../../contract/errors.ts'
import { type CanonicalPath, field } from '../../contract/field.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import { checkContextFit } from '../shared/context-fit.ts'
import { maxTokenBytes } from './channel/token-bytes.ts'

/** For an estimate in a message. */
const usualTokenChars = 4

type Model = { readonly vocabularySize: number; readonly contextLength: number }

/**
 * Throws `context-length-exceeded` for a prompt that cannot fit, and `invalid-request` for a token that the model does not have, in the
 * prompt or in the bias.
 */
export function refuseImpossible(request: Pick<GenerationRequest, 'prompt' | 'sampling'>, model: Model): void {
  refuseFarTooLong(request, model)
  refuseUnknownTokens(request, model)
}

/**
 * The worker renders and tokenizes prompts between the steps of everybody's generation: what cannot fit must not get there. Templates
 * write at least one token for each message and tool.
 */
function refuseFarTooLong({ prompt }: Pick<GenerationRequest, 'prompt'>, { contextLength }: Model): void {
  const chars = charsOf(prompt)
  const parts = prompt.type === 'chat' ? prompt.messages.length + prompt.tools.length : 0
  if (chars <= contextLength * maxTokenBytes && parts <= contextLength) return
  const inputTokens = Math.max(parts, Math.ceil(chars / usualTokenChars))
  checkContextFit({ inputTokens, estimated: true, outputTokens: undefined, contextLength })
}

function charsOf(prompt: GenerationRequest['prompt']): number {
  switch (prompt.type) {
    case 'tokens':
      return 0
    case 'text':
      return prompt.text.length
    case 'infill':
      return prompt.prefix.length + prompt.suffix.length
    case 'chat':
      return prompt.messages.reduce((sum, message) => {
        // Earlier reasoning and calls may be left out.
        const parts = message.role === 'assistant' ? message.parts : message.content
        return parts.reduce((length, part) => length + (part.type === 'text' ? part.text.length : 0), sum)
      }, 0)
  }
}

function refuseUnknownTokens(
  { prompt, sampling }: Pick<GenerationRequest, 'prompt' | 'sampling'>,
  { vocabularySize }: Model,
): void {
  for (const [index, id] of prompt.type === 'tokens' ? prompt.tokens.entries() : []) {
    if (id >= 0 && id < vocabularySize) continue
    const message = `the prompt's token ${index} is ${id}, but the model's vocabulary ends at ${vocabularySize - 1}`
    throw new AppError('invalid-request', message, { at: ['prompt', 'tokens', index] })
  }
  const named = {
    logitBias: [...(sampling.logitBias?.keys() ?? [])],
    allowedTokens: sampling.allowedTokens ?? [],
    stopTokens: sampling.stopTokens ?? [],
  }
  for (const [name, ids] of Object.entries(named)) {
    const id = ids.find((token) => token >= vocabularySize)
    if (id === undefined) continue
    const message = `${field('sampling', name)} names token ${id}, but the model's vocabulary ends at ${vocabularySize - 1}`
    throw new AppError('invalid-request', message, { at: ['sampling', name] })
  }
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
