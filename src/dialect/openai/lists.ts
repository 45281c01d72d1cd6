import { z } from 'zod'
import type { ListFilter, Metadata, PageRequest } from '../../contract/store.ts'
import { dictionary, looseObject } from '../wire/first-fault.ts'
import { validate } from '../wire/validate.ts'

/** The order of a list whose query says none: OpenAI's lists differ. */
type DefaultOrder = PageRequest['order']

/** Nine digits, as a number. */
export function digits(error: string) {
  return z
    .string({ error })
    .regex(/^\d{1,9}$/, { error })
    .transform(Number)
}

// OpenAI's lists have at most 100; llama-stack's clients ask for 1,000.
const limitError = 'an integer from 1 to 1000'
const pageShape = {
  after: z.string().nullish(),
  limit: digits(limitError)
    .pipe(z.number().min(1, { error: limitError }).max(1000, { error: limitError }))
    .optional(),
  order: z.enum(['asc', 'desc']).optional(),
}
export const pageSchema = looseObject(pageShape)
export const listSchema = looseObject({ ...pageShape, model: z.string().optional() })

/** The page of a list that a query asks for; by default the first 20. Throws `invalid-request`. */
export function readPageQuery(query: unknown, defaultOrder: DefaultOrder): PageRequest {
  return toPage(validate(pageSchema, query), defaultOrder)
}

type ListQuery = {
  readonly defaultOrder: DefaultOrder
  /** The names that a model of the query may have in the store. */
  namesOf(model: string): readonly string[]
}

/** The same for a list of what is stored: of one model, or with entries in its metadata (`metadata[key]=value`). Throws `invalid-request`. */
export function readListQuery(query: unknown, { defaultOrder, namesOf }: ListQuery) {
  const { model, ...page } = validate(listSchema, query)
  const entries = readEntries(query as object)
  const filter: ListFilter = {
    ...(model !== undefined && model !== '' && { models: namesOf(model) }),
    ...(entries !== undefined && { metadata: entries }),
  }
  return { page: toPage(page, defaultOrder), filter }
}

function toPage(wire: z.output<typeof pageSchema>, defaultOrder: DefaultOrder): PageRequest {
  const { after, limit = 20, order = defaultOrder } = wire
  return { limit, order, ...(typeof after === 'string' && { after }) }
}

function readEntries(query: object): ListFilter['metadata'] {
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    const key = /^metadata\[(.*)\]$/s.exec(name)?.[1]
    return key === undefined ? [] : [[key, value] as const]
  })
  if (pairs.length === 0) return undefined
  return validate(looseObject({ metadata }), { metadata: Object.fromEntries(pairs) }).metadata ?? undefined
}

const maxMetadata = 16
const metadataKey = z.string().max(64, { error: 'keys of at most 64 characters' })
const metadataValue = z.string().max(512, { error: 'a string of at most 512 characters' })

/** Metadata of what is stored, with OpenAI's limits. */
export const metadata = dictionary(metadataKey, metadataValue, {
  max: { count: maxMetadata, error: `at most ${maxMetadata} entries` },
}).nullish()

export const metadataSchema = looseObject({ metadata })

/** The metadata that replaces the old one. Null removes it. Throws `invalid-request`. */
export function decodeMetadata(body: unknown): Metadata {
  return validate(metadataSchema, body).metadata ?? {}
}

export function encodePage<T>(
  data: readonly T[],
  { ids, hasMore }: { readonly ids: readonly string[]; readonly hasMore: boolean },
) {
  return { object: 'list' as const, data, first_id: ids[0] ?? '', last_id: ids.at(-1) ?? '', has_more: hasMore }
}
