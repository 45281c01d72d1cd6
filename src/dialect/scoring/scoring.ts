import { z } from 'zod'
import { randomHex } from '../../base/random-hex.ts'
import type { Ranking, RankRequest, Scores } from '../../contract/engine.ts'
import type { NameOf } from '../../contract/field.ts'
import { formatRest } from '../wire/field-names.ts'
import { list, looseObject } from '../wire/first-fault.ts'
import { unknownKeys } from '../wire/unknown-keys.ts'
import { bodyReader } from '../wire/validate.ts'
import { flag, integerFrom, nonEmptyText } from '../wire/wire-types.ts'
import { rerankFields, scoreFields } from './fields.ts'
import type { RankingReply, ScoresReply } from './replies.ts'

/** A request for scores of one kind, and the encoder of its reply. */
export type ScoringCall<Result, Request = RankRequest> = {
  readonly model: string
  readonly request: Request
  /** The client's name for a path of `request`. */
  readonly nameOf: NameOf
  readonly ignored: readonly string[]
  encode(scored: Result & { readonly model: string }): unknown
}

type ScoreRequest = { readonly texts: readonly string[]; readonly maxTokens?: number }
type EvaluatedScores = Scores & { readonly truncated: readonly boolean[] }

const methods: Readonly<Record<Scores['method'], string>> = {
  'ranking-head': 'ranking_head',
  'log-likelihood': 'log_likelihood',
}

const maxTexts = 2048
const tooMany = { count: maxTexts, error: `at most ${maxTexts} texts` }
const none = { error: 'at least one text' }
const documentObject = looseObject({ text: nonEmptyText })
const wireDocument = z.union([nonEmptyText, documentObject])
export const rerankSchema = looseObject({
  model: nonEmptyText,
  query: nonEmptyText,
  documents: list(wireDocument, { error: 'an array of texts', max: tooMany }).min(1, none),
  top_n: integerFrom(1),
  return_documents: flag,
})
export const scoreSchema = looseObject({
  model: nonEmptyText,
  messages: list(nonEmptyText, { error: 'an array of texts', max: tooMany }).min(1, none),
  max_length: integerFrom(1),
})
const readRerank = bodyReader(rerankSchema, rerankFields, unknownKeys(rerankSchema))
const readScores = bodyReader(scoreSchema, scoreFields)

/** Decodes a request to rank documents by relevance to a query. The reply lists the best first; a score is a probability. */
export function decodeRerank(body: unknown): ScoringCall<Ranking> {
  const { wire, ignored } = readRerank(body)
  const { model, query, top_n: count, return_documents: withDocuments } = wire
  const texts = wire.documents.map((document) => (typeof document === 'string' ? document : document.text))
  return {
    model,
    request: { query, texts },
    nameOf: nameTexts('documents'),
    ignored,
    encode: (scored): RankingReply => ({
      object: 'list',
      model: scored.model,
      results: bestFirst(scored, count).map((result) => ({
        ...result,
        ...(withDocuments === true && { document: { text: texts[result.index] ?? '' } }),
      })),
      usage: { prompt_tokens: scored.inputTokens, total_tokens: scored.inputTokens },
    }),
  }
}

/** Decodes a request to score texts by a reward model's head (its raw values), or by log-likelihood; the reply names the method. */
export function decodeScoreEvaluation(body: unknown): ScoringCall<EvaluatedScores, ScoreRequest> {
  const { wire, ignored } = readScores(body)
  return {
    model: wire.model,
    request: { texts: wire.messages, ...(typeof wire.max_length === 'number' && { maxTokens: wire.max_length }) },
    nameOf: nameTexts('messages'),
    ignored,
    encode: ({ model, scores, method, scoredTokens, truncated, inputTokens }): ScoresReply => ({
      id: `scoreval-${randomHex()}`,
      object: 'score.evaluation',
      model,
      scores,
      method: methods[method],
      ...(scoredTokens !== undefined && { scored_tokens: scoredTokens }),
      truncated,
      usage: { prompt_tokens: inputTokens, total_tokens: inputTokens },
    }),
  }
}

/** The best texts first, as many as wanted; absent: all. A score is the probability that the text is relevant. */
export function bestFirst(scored: Ranking, count?: number | null) {
  return scored.scores
    .map((score, index) => ({ index, relevance_score: toProbability(score, scored) }))
    .sort((a, b) => b.relevance_score - a.relevance_score || a.index - b.index)
    .slice(0, count ?? undefined)
}

/** Each protocol has its own name for the texts. */
function nameTexts(name: string): NameOf {
  return ([root, ...rest]) => (root === 'texts' ? name : String(root)) + formatRest(rest)
}

/** A score as the probability that the text is relevant. */
function toProbability(score: number, { areProbabilities }: Pick<Ranking, 'areProbabilities'>): number {
  return areProbabilities ? score : 1 / (1 + Math.exp(-score))
}
