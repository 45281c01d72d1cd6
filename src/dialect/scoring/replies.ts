import type { z } from 'zod'
import { flag, is, list, named, number, numbers, object, text } from '../wire/json/shapes.ts'

const usage = object({ prompt_tokens: number, total_tokens: number })
export const ranking = named(
  'Ranking',
  object({
    object: is('list'),
    model: text,
    results: list(object({ index: number, relevance_score: number, document: object({ text }).optional() })),
    usage,
  }),
)
export type RankingReply = z.input<typeof ranking>
export const scores = object({
  id: text,
  object: is('score.evaluation'),
  model: text,
  scores: numbers,
  method: text,
  scored_tokens: numbers.optional(),
  truncated: list(flag),
  usage,
})
export type ScoresReply = z.input<typeof scores>
