import { z } from 'zod'
import { parseConfigDocument } from './document.ts'
import { formatPath } from './problems.ts'
import { serverFields } from './sections/endpoints-schema.ts'

const server = z.strictObject(serverFields)
const targets = z.strictObject({
  targets: z.array(z.string().regex(/^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+):\d{1,5}$/, 'must be HOST:PORT')),
  labels: z.record(z.string(), z.string()).exactOptional(),
})

/** Validating servers blocks all requests. A server in several groups counts in each. */
const mostListed = 2000

type ListedServer = z.output<typeof server>

/**
 * The servers of a file: a list of `{ url, weight, apiKeyEnv }`, or the form that Prometheus reads (`file_sd`), whose labels are ignored.
 * Throws an error for people for anything else; an empty file is being written.
 */
export function parseEndpointList(text: string, path: string): readonly ListedServer[] {
  const { value, problems } = parseConfigDocument(text)
  if (problems.length > 0) throw new Error(problems.join('; '))
  if (!Array.isArray(value)) throw new Error('it is not a list; no servers are `[]`')
  const count = value.reduce<number>(
    (sum, item) => sum + (isGroup(item) && Array.isArray(item.targets) ? item.targets.length : 1),
    0,
  )
  if (count > mostListed) throw new Error(`it lists ${count} servers (at most ${mostListed})`)
  const servers = new Map<string, ListedServer>()
  for (const [index, item] of value.entries()) {
    // Groups of targets may overlap.
    for (const one of parseItem(item, index, path)) if (!servers.has(one.url)) servers.set(one.url, one)
  }
  return [...servers.values()]
}

function parseItem(item: unknown, index: number, path: string): readonly ListedServer[] {
  if (isGroup(item))
    return valid(targets, item, index).targets.map((target) => valid(server, { url: `http://${target}${path}` }, index))
  return [valid(server, item, index)]
}

function isGroup(item: unknown): item is { readonly targets: unknown } {
  return typeof item === 'object' && item !== null && 'targets' in item
}

function valid<T>(schema: z.ZodType<T>, item: unknown, index: number): T {
  const { data, error } = schema.safeParse(item)
  if (data !== undefined) return data
  const [issue] = error?.issues ?? []
  throw new Error(`${formatPath([index, ...(issue?.path ?? [])])}: ${issue?.message}`)
}
