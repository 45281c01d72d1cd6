import type { Check } from '../checks.ts'
import { chat, post, textPart, user } from '../row.ts'

/** Scores of the model that ranks. */
export const score = (fields: object, ...checks: readonly Check[]) =>
  post('/v1/score/evaluation', { model: 'ranker', messages: ['a b c d', 'b'], ...fields }, ...checks)
/** A chat with a part beside a text. */
export const seen = (part: object, ...checks: readonly Check[]) => chat({ messages: [user([textPart('see'), part])] }, ...checks)
