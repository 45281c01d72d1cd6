import { AppError } from '../../contract/errors.ts'
import type { ItemPage, StoredItem } from '../../contract/store.ts'
import { encodePage } from '../openai/lists.ts'
import { list, looseObject } from '../wire/first-fault.ts'
import { preview } from '../wire/preview.ts'
import { validate } from '../wire/validate.ts'
import { wireItem } from './item-schema.ts'
import { normalizeInput } from './normalize-input.ts'

/** OpenAI's limit for one call. */
const maxItems = 20

export const itemList = list(wireItem, {
  error: 'an array of items',
  max: { count: maxItems, error: `at most ${maxItems} items` },
})
export const itemsSchema = looseObject({ items: itemList })

/** Items to add to a conversation, each with an id. Throws `invalid-request`. */
export function decodeNewItems(body: unknown): readonly StoredItem[] {
  return storeItems(validate(itemsSchema, body).items)
}

/** Throws for items that only a response can have. */
export function storeItems(items: ReturnType<typeof validate<typeof itemList>>): readonly StoredItem[] {
  return normalizeInput(items).map((stored, index) => {
    if (stored !== undefined) return stored
    const param = `items[${index}].type`
    const message = `${param} ${preview(items[index]?.type)} is not an item of a conversation: send the item itself`
    throw new AppError('invalid-request', message, { param })
  })
}

/** OpenAI's page of a list of items. */
export function encodeItemPage({ items, hasMore }: ItemPage) {
  return encodePage(
    items.map(({ json }) => json),
    { ids: items.map(({ id }) => id), hasMore },
  )
}
