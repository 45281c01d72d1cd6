import { sql } from 'kysely'
import { AppError } from '../contract/errors.ts'
import type { ItemPage, PageRequest, StoredItem } from '../contract/store.ts'
import { decodeItems, type ItemText } from './item-text.ts'
import type { Owned } from './owned.ts'

/** Input and output of a response and of all that it continues, oldest first; undefined if one of them is missing. */
export async function readHistory(own: Owned, id: string): Promise<StoredItem[] | undefined> {
  const rows = await own
    .chain(id)
    .select(['chain.previous_id', 'item_id', 'json'])
    .orderBy('depth', 'desc')
    .orderBy('is_output')
    .orderBy('position')
    .execute()
  // The first response continues none, unless its predecessor is missing.
  if (rows[0] === undefined || rows[0].previous_id !== null) return undefined
  return decodeItems(rows.flatMap(({ item_id, json }) => (item_id === null || json === null ? [] : [{ item_id, json }])))
}

/** A page of the history that a response was given: its own input, and the remaining parts of what it continues. */
export async function listInput(own: Owned, id: string, page: PageRequest): Promise<ItemPage | undefined> {
  const known = await own.responses().select('id').where('id', '=', id).executeTakeFirst()
  if (known === undefined) return undefined
  const given = own
    .chain(id)
    .where((row) => row.or([row('depth', '>', 0), row('is_output', '=', 0)]))
    .where('item_id', 'is not', null)
  const place = sql`(-depth, is_output, position)`
  const direction = page.order
  let query = given.select(['item_id', 'json']).$narrowType<ItemText>()
  if (page.after !== undefined) {
    const after = await given
      .select(['depth', 'is_output', 'position'])
      .where('item_id', '=', page.after)
      .orderBy('depth', 'desc')
      .executeTakeFirst()
    if (after === undefined) throw missingAfter(page.after)
    const from = sql`(${sql.lit(-after.depth)}, ${sql.lit(after.is_output)}, ${sql.lit(after.position)})`
    query = query.where(page.order === 'asc' ? sql<boolean>`${place} > ${from}` : sql<boolean>`${place} < ${from}`)
  }
  const rows = await query
    .orderBy('depth', direction === 'asc' ? 'desc' : 'asc')
    .orderBy('is_output', direction)
    .orderBy('position', direction)
    .limit(page.limit + 1)
    .execute()
  return toPage(rows, page.limit)
}

/** A page from its rows, and one row more if there is one. */
export async function toPage(rows: readonly Pick<ItemText, 'item_id' | 'json'>[], limit: number): Promise<ItemPage> {
  return { items: await decodeItems(rows.slice(0, limit)), hasMore: rows.length > limit }
}

export function missingAfter(after: string): AppError {
  return new AppError('not-found', `there is no item '${after}' to continue after`)
}
