import type { RankRequest } from '../../../../contract/engine.ts'
import type { Model } from '../../binding/model.ts'
import type { Token } from '../../binding/tokenizer.ts'

type RankModel = Pick<Model, 'tokens' | 'vocabularyType' | 'tokenize' | 'fileInfo'>

/**
 * The tokens of one text to score, alone or with a query: (1) by the model's own reranking template, (2) as BERT was trained, (3) as
 * llama.cpp joins a pair, by the tokenizer's settings.
 */
export function rankTokens(model: RankModel, { query }: Pick<RankRequest, 'query'>, text: string): Token[] {
  const { tokens, vocabularyType } = model
  const read = (part: string) => model.tokenize(part, false, 'trimLeadingSpace')
  const isWordPiece = vocabularyType === 'wpm'
  const present = (...candidates: (Token | null)[]) => candidates.filter((token) => token !== null)
  const begin = isWordPiece || tokens.shouldPrependBosToken ? present(tokens.bos) : []
  const end = isWordPiece ? present(tokens.sep) : tokens.shouldAppendEosToken ? present(tokens.eos ?? tokens.sep) : []
  if (query === undefined) return [...begin, ...read(text), ...end]
  const { tokenizer } = model.fileInfo.metadata
  const template = tokenizer['chat_template.rerank']
  if (template !== undefined) {
    return template.split(/(\{query\}|\{document\})/).flatMap((part) => {
      if (part === '{query}') return read(query)
      return part === '{document}' ? read(text) : model.tokenize(part, true, 'trimLeadingSpace')
    })
  }
  const { add_sep_token: addsSeparator } = tokenizer.ggml as { readonly add_sep_token?: boolean }
  const separator = !isWordPiece && addsSeparator === true ? present(tokens.sep) : []
  return [...begin, ...read(query), ...end, ...separator, ...read(text), ...end]
}
