import { readdirSync, readFileSync } from 'node:fs'
import { z } from 'zod'

const recordingSchema = z.object({
  client: z.string(),
  version: z.string(),
  /** What its user did. */
  how: z.string(),
  method: z.string(),
  path: z.string(),
  headers: z.record(z.string(), z.string()),
  /** Null: none was sent. */
  body: z.unknown(),
})

/** A request that a real client sent with its default settings. */
export type Recording = z.output<typeof recordingSchema>

/** Ours: a folder for each client. */
export const ownFolder = new URL('./recorded/', import.meta.url)

/** Calls that `record/` does not make. */
export const moreFolder = new URL('./more/', import.meta.url)

/** The recordings of a folder and its folders, by their paths without `.json`. */
export function readRecordings(folder: URL): ReadonlyMap<string, Recording> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap((file) =>
    file.endsWith('.json') ? [file.slice(0, -5)] : [],
  )
  return new Map(
    names.sort().map((name) => [name, recordingSchema.parse(JSON.parse(readFileSync(new URL(`${name}.json`, folder), 'utf8')))]),
  )
}

/** The body as an object; empty where there is none. */
export function fieldsOf(body: unknown): Readonly<Record<string, unknown>> {
  return typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {}
}

/** The path as it was called, without a query. */
export function routeOf({ path }: Pick<Recording, 'path'>): string {
  return path.replace(/\?.*/, '')
}
