import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Ranking, RankRequest } from '../../contract/engine.ts'
import type { NameOf } from '../../contract/field.ts'
import type { Scores } from '../../contract/scores.ts'
import { createNestedCheck, keysOf } from '../openai/nested-check.ts'
import { flag, integerFrom, nonEmptyText } from '../openai/wire-types.ts'
import { formatRest } from '../wire/field-names.ts'
import { checkFields, indexFields } from '../wire/field-table.ts'
import { list } from '../wire/first-fault.ts'
import { validate } from '../wire/validate.ts'
import { rerankFields, scoreFields } from './fields.ts'

/** A request for scores of one kind, and how to answer it in the caller's words. */
export type ScoringCall<Result> = {
  readonly model: string
  readonly request: RankRequest
  /** What the caller calls a place of `request`. */
  readonly nameOf: NameOf
  readonly ignored: readonly string[]
  encode(scored: Result & { readonly model: string }): unknown
}

const methods: Readonly<Record<Scores['method'], string>> = {
  'ranking-head': 'ranking_head',
  'log-likelihood': 'log_likelihood',
}

const maxTexts = 2048
const tooMany = { error: `at most ${maxTexts} texts` }
const none = { error: 'at least one text' }
const documentObject = z.looseObject({ text: nonEmptyText })
const documentKeys = keysOf(documentObject)
const wireDocument = z.union([nonEmptyText, documentObject])
const rerankSchema = z.looseObject({
  model: nonEmptyText,
  query: nonEmptyText,
  documents: list(wireDocument, { error: 'an array of texts' }).min(1, none).max(maxTexts, tooMany),
  top_n: integerFrom(1),
  return_documents: flag,
})
const scoreSchema = z.looseObject({
  model: nonEmptyText,
  messages: list(nonEmptyText, { error: 'an array of texts' }).min(1, none).max(maxTexts, tooMany),
})
const rerankIndex = indexFields(rerankFields)
const scoreIndex = indexFields(scoreFields)

/** Documents by their relevance to a query, the best first; a score is a probability. */
export function decodeRerank(body: unknown): ScoringCall<Ranking> {
  const wire = validate(rerankSchema, body)
  const { model, query, top_n: count, return_documents: tells } = wire
  const nested = createNestedCheck(rerankIndex)
  for (const [index, document] of wire.documents.entries()) {
    if (typeof document === 'object') nested.check(document, documentKeys, { path: 'documents[]', index })
  }
  const texts = wire.documents.map((document) => (typeof document === 'string' ? document : document.text))
  return {
    model,
    request: { query, texts },
    nameOf: nameTexts('documents'),
    ignored: [...checkFields(rerankIndex, wire), ...nested.ignored],
    encode: (scored) => ({
      object: 'list',
      model: scored.model,
      results: scored.scores
        .map((score, index) => ({
          index,
          relevance_score: toProbability(score, scored),
          ...(tells === true && { document: { text: texts[index] } }),
        }))
        .sort((a, b) => b.relevance_score - a.relevance_score || a.index - b.index)
        .slice(0, count ?? undefined),
      usage: { prompt_tokens: scored.inputTokens, total_tokens: scored.inputTokens },
    }),
  }
}

/** Texts by a reward model's head, as it gives the values, or by their log-likelihood: the reply says which. */
export function decodeScoreEvaluation(body: unknown): ScoringCall<Scores> {
  const wire = validate(scoreSchema, body)
  const ignored = checkFields(scoreIndex, wire)
  return {
    model: wire.model,
    request: { texts: wire.messages },
    nameOf: nameTexts('messages'),
    ignored,
    encode: ({ model, scores, method, scoredTokens, inputTokens }) => ({
      id: `scoreval-${randomUUID().replaceAll('-', '')}`,
      object: 'score.evaluation',
      model,
      scores,
      method: methods[method],
      ...(scoredTokens !== undefined && { scored_tokens: scoredTokens }),
      // A text that is too long is refused.
      truncated: scores.map(() => false),
      usage: { prompt_tokens: inputTokens, total_tokens: inputTokens },
    }),
  }
}

/** The texts have another name in each protocol. */
function nameTexts(name: string): NameOf {
  return ([root, ...rest]) => (root === 'texts' ? name : String(root)) + formatRest(rest)
}

/** A score as a probability: how likely it is that the text is relevant. */
function toProbability(score: number, { areProbabilities }: Pick<Ranking, 'areProbabilities'>): number {
  return areProbabilities ? score : 1 / (1 + Math.exp(-score))
}
