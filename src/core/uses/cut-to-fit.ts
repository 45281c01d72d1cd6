import type { RequestContext } from '../../contract/context.ts'
import type { EmbedInput } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import { withTokenizer } from './use-tokenizer.ts'

/** One to cut to the context length, others for the tokens that a model puts around a text, and for texts whose halves have more tokens. */
const maxCuts = 5

/**
 * Runs it with inputs, and again with the first tokens of each while one is longer than the model reads. `cut`: the indices of those of which
 * something is gone. Rejects as `run` where the engine does not tell its limit, and with `invalid-request` at `model` where it has no tokenizer.
 */
export async function cutToFit<Result>(
  given: readonly EmbedInput[],
  run: (inputs: readonly EmbedInput[]) => Promise<Result>,
  context: RequestContext,
): Promise<{ readonly result: Result; readonly cut: readonly number[] }> {
  let inputs = given
  let limit: number | undefined
  for (let cuts = 0; ; cuts++) {
    try {
      const result = await run(inputs)
      return { result, cut: given.flatMap((input, index) => (input === inputs[index] ? [] : [index])) }
    } catch (error) {
      const overflow = error instanceof AppError ? error.overflow : undefined
      if (overflow === undefined || cuts === maxCuts) throw error
      const { inputTokens, contextLength } = overflow
      limit = limit === undefined ? contextLength : limit - Math.max(1, inputTokens - contextLength)
      if (limit < 1) throw error
      inputs = await firstTokens(inputs, limit, context)
    }
  }
}

/** The first tokens of each input; one that is short enough stays as it is. */
export function firstTokens(
  inputs: readonly EmbedInput[],
  count: number,
  context: RequestContext,
): Promise<readonly EmbedInput[]> {
  const { signal } = context
  return withTokenizer(context, async (tokenizer) => {
    const shorter: EmbedInput[] = []
    for (const input of inputs) {
      if (input.type === 'tokens') {
        shorter.push(input.tokens.length <= count ? input : { ...input, tokens: input.tokens.slice(0, count) })
        continue
      }
      const tokens = await tokenizer.tokenize({ prompt: input, reasoning: {}, addBos: false, parseSpecial: false }, signal)
      const isShort = tokens.length <= count
      const kept = isShort ? '' : await tokenizer.detokenize({ tokens: tokens.slice(0, count), special: true }, signal)
      shorter.push(isShort ? input : { ...input, text: kept })
    }
    return shorter
  })
}
