import { setImmediate as nextTurn } from 'node:timers/promises'
import type { JsonObject } from '../contract/request.ts'
import type { StoredItem } from '../contract/store.ts'

/** An item in the form of a row. */
export type ItemText = { readonly item_id: string; readonly json: string; readonly sizeBytes: number }

/** The JSON to write or read before other work gets a turn. */
const sliceLength = 256 * 1024
/** A statement with more rows takes long to build, and to run. */
const maxBatchRows = 200
const maxBatchBytes = 1024 * 1024

/** Other work gets turns between large items. */
export async function encodeItems(items: readonly StoredItem[]): Promise<ItemText[]> {
  const texts = await inSlices(items, ({ id, json }) => {
    const text = JSON.stringify(json)
    return { value: { item_id: id, json: text }, length: text.length }
  })
  return inSlices(texts, (text) => {
    return { value: { sizeBytes: Buffer.byteLength(text.json), ...text }, length: text.json.length }
  })
}

/** Other work gets turns between large items. */
export function decodeItems(rows: readonly Pick<ItemText, 'item_id' | 'json'>[]): Promise<StoredItem[]> {
  return inSlices(rows, ({ item_id, json }) => ({ value: { id: item_id, json: decodeObject(json) }, length: json.length }))
}

/** Reads JSON that this folder wrote. */
export function decodeObject(text: string): JsonObject {
  return JSON.parse(text)
}

export function sizeOf(items: readonly Pick<ItemText, 'sizeBytes'>[]): number {
  return items.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
}

/** Divides rows into batches for one statement each. */
export function* batchesOf<Row extends { readonly json: string }>(rows: readonly Row[]): Generator<Row[], void, void> {
  let batch: Row[] = []
  let length = 0
  for (const row of rows) {
    if (batch.length > 0 && (batch.length >= maxBatchRows || length + row.json.length > maxBatchBytes)) {
      yield batch
      batch = []
      length = 0
    }
    batch.push(row)
    length += row.json.length
  }
  if (batch.length > 0) yield batch
}

async function inSlices<From, To>(
  from: readonly From[],
  convert: (value: From) => { readonly value: To; readonly length: number },
): Promise<To[]> {
  const converted: To[] = []
  let sinceTurn = 0
  for (const each of from) {
    const { value, length } = convert(each)
    converted.push(value)
    sinceTurn += length
    if (sinceTurn > sliceLength) {
      await nextTurn()
      sinceTurn = 0
    }
  }
  return converted
}
