import type { Model } from '../../binding/model.ts'

/** llama.cpp's own rule for draft models: the sizes may differ by this many tokens, and the first tokens may have other texts. */
const rule = { sizeDifference: 128, firstToken: 5 }

/** Throws unless one model can draft tokens for the other: they need the same vocabulary. */
export function refuseOtherVocabulary(model: Model, draft: Model): void {
  const difference = differenceOf(model, draft)
  if (difference !== undefined)
    throw new Error(`it has another vocabulary, so use a small model of the same family (${difference})`)
}

function differenceOf(model: Model, draft: Model): string | undefined {
  if (model.vocabularyType !== draft.vocabularyType) {
    return `a tokenizer of type ${draft.vocabularyType} instead of ${model.vocabularyType}`
  }
  for (const name of ['bos', 'eos', 'shouldPrependBosToken', 'shouldAppendEosToken'] as const) {
    if (model.tokens[name] !== draft.tokens[name]) return 'other tokens at the beginning or the end of texts'
  }
  if (Math.abs(model.size - draft.size) > rule.sizeDifference) return `${draft.size} tokens instead of ${model.size}`
  for (let token = rule.firstToken; token < Math.min(model.size, draft.size); token++) {
    const [own, other] = [model.textOf(token), draft.textOf(token)]
    if (own !== other) return `token ${token} is '${other}' instead of '${own}'`
  }
  return undefined
}
