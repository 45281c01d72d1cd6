import type { RequestContext } from '../../contract/context.ts'
import type { EmbedInput } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import { withTokenizer } from './use-tokenizer.ts'

/**
 * One cut to the context length; the others are for tokens that a model adds around a text, and for texts that tokenize to more when cut.
 */
const maxCuts = 5

/**
 * Runs with inputs, and again with only the first tokens of each while one is longer than the model reads. `cut`: the indices of truncated
 * inputs. Rejects as `run` if the engine does not report its limit, and with `invalid-request` at `model` without a tokenizer.
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

/** The first tokens of each input; short ones stay unchanged. */
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
