import { AppError } from '../../../../contract/errors.ts'
import { field } from '../../../../contract/field.ts'
import type { Prompt } from '../../../../contract/request.ts'
import type { Model } from '../../binding/model.ts'
import type { Token } from '../../binding/tokenizer.ts'

type InfillModel = Pick<Model, 'tokens' | 'tokenize' | 'getTokenAttributes'>

type InfillTokens = { readonly prefix: Token; readonly suffix: Token; readonly middle: Token }

/**
 * The tokens of a gap to fill, in the order of llama.cpp's server: prefix, suffix, middle. Throws `unsupported-field` for a
 * model that was not trained for it.
 */
export function infillTokens(model: InfillModel, { prefix, suffix }: Extract<Prompt, { type: 'infill' }>): Token[] {
  const special = findInfillTokens(model)
  if (special === undefined) {
    const message =
      `${field('prompt', 'suffix')} is not supported by this model: it has no tokens for filling in the middle; leave it out, or ` +
      'choose a model that was trained for it, such as a code model'
    throw new AppError('unsupported-field', message, { at: ['prompt', 'suffix'] })
  }
  const { bos, shouldPrependBosToken } = model.tokens
  const begin = shouldPrependBosToken && bos !== null ? [bos] : []
  // Tokenizers that put a space in front of a text do so for the prefix alone: the text after the gap may continue a word.
  const after = model.tokenize(suffix, false, 'trimLeadingSpace')
  return [...begin, special.prefix, ...model.tokenize(prefix, false), special.suffix, ...after, special.middle]
}

export function canInfill(model: InfillModel): boolean {
  return findInfillTokens(model) !== undefined
}

/** The tokens that the model file names, or whose texts llama.cpp knows. */
function findInfillTokens(model: InfillModel): InfillTokens | undefined {
  const { prefix, suffix, middle } = model.tokens.infill
  // A tokenizer without byte tokens turns any text into one unknown token, also the text of these special tokens.
  const isKnown = (token: Token | null): token is Token => token !== null && !model.getTokenAttributes(token).unknown
  return isKnown(prefix) && isKnown(suffix) && isKnown(middle) ? { prefix, suffix, middle } : undefined
}
