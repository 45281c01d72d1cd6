import type { LlamaModel, Token } from 'node-llama-cpp'
import { AppError } from '../../../contract/errors.ts'
import { field } from '../../../contract/field.ts'
import type { Prompt } from '../../../contract/request.ts'

type Marks = { readonly prefix: Token; readonly suffix: Token; readonly middle: Token }

/**
 * The tokens of a gap to fill, in the order of llama.cpp's server: prefix, suffix, middle. Throws `unsupported-field` for a
 * model that was not trained for it.
 */
export function infillTokens(model: LlamaModel, { prefix, suffix }: Extract<Prompt, { type: 'infill' }>): Token[] {
  const marks = requireMarks(model)
  const { bos, shouldPrependBosToken } = model.tokens
  const begin = shouldPrependBosToken && bos !== null ? [bos] : []
  // Tokenizers that put a space in front of a text do so for the prefix alone: what is behind the gap may not begin a word.
  const behind = model.tokenize(suffix, false, 'trimLeadingSpace')
  return [...begin, marks.prefix, ...model.tokenize(prefix, false), marks.suffix, ...behind, marks.middle]
}

/** Throws `unsupported-field` for a model that cannot fill in the middle. */
export function refuseWithoutInfill(model: LlamaModel): void {
  requireMarks(model)
}

/** The tokens that the model file names, or whose texts llama.cpp knows. */
function requireMarks(model: LlamaModel): Marks {
  const { prefix, suffix, middle } = model.tokens.infill
  // A tokenizer without bytes of its own makes one unknown token of any text, the text of a mark among them.
  const isMark = (token: Token | null): token is Token => token !== null && !model.getTokenAttributes(token).unknown
  if (isMark(prefix) && isMark(suffix) && isMark(middle)) return { prefix, suffix, middle }
  const message =
    `${field('prompt', 'suffix')} is not supported by this model: it has no tokens for filling in the middle; leave it out, or ` +
    'choose a model that was trained for it, such as a code model'
  throw new AppError('unsupported-field', message, { at: ['prompt', 'suffix'] })
}
