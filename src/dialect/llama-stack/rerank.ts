import { z } from 'zod'
import type { Ranking } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import { bestFirst, type ScoringCall } from '../scoring/scoring.ts'
import { list, looseObject, openObject } from '../wire/first-fault.ts'
import { unknownKeys } from '../wire/unknown-keys.ts'
import { bodyReader } from '../wire/validate.ts'
import { integerFrom, nonEmptyText, text } from '../wire/wire-types.ts'
import { rerankFields } from './fields.ts'
import type { StackRanking } from './replies.ts'

const maxItems = 2048
// One object: clients omit the type.
const partObject = looseObject({ type: text, text: nonEmptyText.nullish(), image_url: openObject({}).nullish() })
const part = z.union([nonEmptyText, partObject])
export const rerankSchema = looseObject({
  model: nonEmptyText,
  query: part,
  items: list(part, {
    error: 'an array of texts',
    max: { count: maxItems, error: `at most ${maxItems} items` },
  }).min(1, { error: 'at least one item' }),
  max_num_results: integerFrom(1),
})
const readBody = bodyReader(rerankSchema, rerankFields, unknownKeys(rerankSchema))

/** Decodes a request of llama-stack's clients to rank items by relevance to a query. The reply lists the best first. */
export function decodeStackRerank(body: unknown): ScoringCall<Ranking> {
  const { wire, ignored } = readBody(body)
  return {
    model: wire.model,
    request: { query: textOf(wire.query, 'query'), texts: wire.items.map((item, index) => textOf(item, `items[${index}]`)) },
    nameOf: ([root, index]) => (root !== 'texts' ? String(root) : index === undefined ? 'items' : `items[${String(index)}]`),
    ignored,
    encode: (scored): StackRanking => ({ data: bestFirst(scored, wire.max_num_results) }),
  }
}

function textOf(wire: z.output<typeof part>, param: string): string {
  if (typeof wire === 'string') return wire
  if (typeof wire.text === 'string') return wire.text
  if (typeof wire.image_url !== 'object' || wire.image_url === null) {
    throw new AppError('invalid-request', `${param}.text is missing: expected a string`, { param: `${param}.text` })
  }
  throw new AppError('unsupported-field', `${param} is an image, which no ranking model sees: send text`, { param })
}
