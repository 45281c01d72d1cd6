import { AppError } from '../contract/errors.ts'
import type {
  ListFilter,
  Metadata,
  PageRequest,
  ResponsePage,
  ResponseStore,
  StoredItem,
  StoredResponse,
} from '../contract/store.ts'
import { listInput, missingAfter, readHistory } from './history.ts'
import { decodeItems, decodeObject, encodeItems, type ItemText, sizeOf } from './item-text.ts'
import type { Lifetimes } from './lifetimes.ts'
import type { Owned } from './owned.ts'
import type { ResponseRows } from './response-rows.ts'
import type { RunningCall } from './running-responses.ts'
import { runningStatuses } from './tables.ts'

const maxIds = 500

/** Responses in the tables, limited to the caller's. */
export function createResponseStore(of: (owner: string) => Owned, lifetimes: Lifetimes): Omit<ResponseStore, RunningCall> {
  return {
    save: (response) => save(of(response.owner), response, lifetimes),
    find: async (owner, id) => (await of(owner).read((own) => find(own, owner, [id])))[0],
    list: (owner, page, filter = {}) => of(owner).read((own) => list(own, { owner, page, filter })),
    delete: (owner, id) => of(owner).deleteResponse(id),
    history: (owner, id) => readHistory(of(owner), id),
    listInput: (owner, id, page) => of(owner).read((own) => listInput(own, id, page)),
    findItems: (owner, ids) => findItems(of(owner), ids),
    events: (owner, id, after, limit) =>
      of(owner)
        .responseEvents()
        .select(['response_events.sequence', 'response_events.json'])
        .where('responses.id', '=', id)
        .where('sequence', '>', after)
        .orderBy('sequence')
        .limit(limit)
        .execute(),
    requestCancel: (owner, id) => of(owner).requestCancel(id),
  }
}

async function save(owned: Owned, response: StoredResponse, lifetimes: Lifetimes): Promise<void> {
  const [input, output] = [await encodeItems(response.input), await encodeItems(response.output)]
  await owned.change(async (own) => {
    const rows = (await add(own, response, { input, output }, lifetimes)) ?? (await change(own, response, output))
    if (rows !== undefined) {
      if (hasEnded(response)) await addToConversation(own, response, rows, lifetimes)
      return
    }
    // Its owner may save an ended one again; for another owner, nothing is found.
    const known = await own.responses().select('id').where('id', '=', response.id).executeTakeFirst()
    if (known === undefined) throw new AppError('request-conflict', `the response id '${response.id}' is in use`)
  })
}

/** Undefined: the id is in use. */
async function add(
  own: Owned,
  response: StoredResponse,
  { input, output }: { readonly input: readonly ItemText[]; readonly output: readonly ItemText[] },
  lifetimes: Lifetimes,
): Promise<ResponseRows | undefined> {
  const json = JSON.stringify(response.json)
  const rows = await own.addResponse({
    id: response.id,
    created_at: response.createdAtMs,
    expires_at: lifetimes.responseExpiry(response.createdAtMs),
    status: response.status,
    model: modelOf(response),
    previous_id: response.previousId ?? null,
    conversation_id: response.conversationId ?? null,
    lease_until: leaseOf(response),
    cancel_requested: 0,
    size_bytes: Buffer.byteLength(json) + sizeOf(input) + sizeOf(output),
    json,
  })
  await rows?.addItems({ input, output })
  await rows?.setMetadata(metadataOf(response))
  return rows
}

/** Undefined: no such response is running. */
async function change(own: Owned, response: StoredResponse, output: readonly ItemText[]): Promise<ResponseRows | undefined> {
  const json = JSON.stringify(response.json)
  const rows = await own.changeRunning(
    response.id,
    { status: response.status, model: modelOf(response), lease_until: leaseOf(response), json },
    Buffer.byteLength(json) + sizeOf(output),
  )
  await rows?.removeOutput()
  await rows?.addItems({ output })
  return rows
}

/** A conversation that was deleted meanwhile stays deleted. */
async function addToConversation(
  own: Owned,
  { id, conversationId }: StoredResponse,
  rows: ResponseRows,
  lifetimes: Lifetimes,
): Promise<void> {
  if (conversationId === undefined) return
  const expiresAtMs = lifetimes.conversationExpiry()
  const conversation = await own.extendConversation(conversationId, { ...(await rows.measure()), expiresAtMs })
  await conversation?.addItemsOf(id)
}

function modelOf({ json: { model } }: StoredResponse): string | null {
  return typeof model === 'string' ? model : null
}

function metadataOf({ json: { metadata } }: StoredResponse): Metadata {
  return typeof metadata === 'object' && metadata !== null ? (metadata as Metadata) : {}
}

function hasEnded({ status }: StoredResponse): boolean {
  return !runningStatuses.some((running) => running === status)
}

function leaseOf(response: StoredResponse): number | null {
  return hasEnded(response) ? null : (response.leaseUntilMs ?? null)
}

/** The existing ones of these ids, in this order. */
async function find(own: Owned, owner: string, ids: readonly string[]): Promise<StoredResponse[]> {
  if (ids.length === 0) return []
  const rows = await own
    .responses()
    .select(['responses.id', 'created_at', 'status', 'json', 'previous_id', 'conversation_id', 'lease_until'])
    .where('responses.id', 'in', ids)
    .execute()
  const items = await own
    .responseItems()
    .select(['response_id', 'is_output', 'item_id', 'response_items.json'])
    .where('responses.id', 'in', ids)
    .orderBy('is_output')
    .orderBy('position')
    .execute()
  const itemsOf = new Map<string, typeof items>(ids.map((id) => [id, []]))
  for (const item of items) itemsOf.get(item.response_id)?.push(item)
  const rowOf = new Map(rows.map((row) => [row.id, row]))
  const found: StoredResponse[] = []
  for (const id of ids) {
    const row = rowOf.get(id)
    if (row === undefined) continue
    const parts = itemsOf.get(id) ?? []
    found.push({
      id,
      owner,
      createdAtMs: row.created_at,
      status: row.status,
      json: decodeObject(row.json),
      input: await decodeItems(parts.filter(({ is_output }) => is_output === 0)),
      output: await decodeItems(parts.filter(({ is_output }) => is_output === 1)),
      ...(row.previous_id !== null && { previousId: row.previous_id }),
      ...(row.conversation_id !== null && { conversationId: row.conversation_id }),
      ...(row.lease_until !== null && { leaseUntilMs: row.lease_until }),
    })
  }
  return found
}

async function list(
  own: Owned,
  { owner, page, filter }: { readonly owner: string; readonly page: PageRequest; readonly filter: ListFilter },
): Promise<ResponsePage> {
  const { after, limit, order } = page
  let query = own.responses().select('responses.id')
  if (filter.models !== undefined) query = query.where('model', 'in', filter.models)
  for (const [key, value] of Object.entries(filter.metadata ?? {})) {
    query = query.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('response_metadata')
          .select('key')
          .whereRef('response_id', '=', 'responses.id')
          .where('key', '=', key)
          .where('value', '=', value),
      ),
    )
  }
  if (after !== undefined) {
    const from = await own.responses().select('created_at').where('responses.id', '=', after).executeTakeFirst()
    if (from === undefined) throw missingAfter(after)
    const isLater = order === 'asc' ? '>' : '<'
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('created_at', 'responses.id'), isLater, tuple(from.created_at, after)),
    )
  }
  const rows = await query
    .orderBy('created_at', order)
    .orderBy('responses.id', order)
    .limit(limit + 1)
    .execute()
  const ids = rows.slice(0, limit).map(({ id }) => id)
  const responses = await find(own, owner, ids)
  return { responses, hasMore: rows.length > limit }
}

/** An item can be in several responses and conversations; the copies are equal. */
async function findItems(own: Owned, ids: readonly string[]): Promise<StoredItem[]> {
  const found = new Map<string, Pick<ItemText, 'item_id' | 'json'>>()
  for (let start = 0; start < ids.length; start += maxIds) {
    const part = ids.slice(start, start + maxIds)
    const rows = await own
      .responseItems()
      .select(['item_id', 'response_items.json'])
      .where('item_id', 'in', part)
      .union(own.conversationItems().select(['item_id', 'conversation_items.json']).where('item_id', 'in', part))
      .execute()
    for (const row of rows) found.set(row.item_id, row)
  }
  const ordered = [...new Set(ids)].flatMap((id) => found.get(id) ?? [])
  return decodeItems(ordered)
}
