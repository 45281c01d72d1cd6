import type { Endpoint, UpstreamClient } from '../transport/client.ts'
import { asArray, asObject } from '../transport/loose-json.ts'
import { withTimeLimit } from '../transport/time-limit.ts'

/** What a server says of its requests. `isLate`: it says so now and then only, so that an end may go unsaid for long. */
export type RunningRequests = { readonly count: number; readonly isLate: boolean }

/** What servers call the requests that run and wait. SGLang writes its numbers anew every few steps, and twice a minute while idle. */
const gauges: ReadonlyMap<string, 'at-once' | 'late'> = new Map([
  ['vllm:num_requests_running', 'at-once'],
  ['vllm:num_requests_waiting', 'at-once'],
  ['llamacpp:requests_processing', 'at-once'],
  ['llamacpp:requests_deferred', 'at-once'],
  ['sglang:num_running_reqs', 'late'],
  ['sglang:num_queue_reqs', 'late'],
])
const mostBytes = 4 * 1024 * 1024
/** A later answer would be about a time at which an answer may be over by itself. */
const answerTimeoutMs = 2000

const pages = [
  { path: '/slots', read: readSlots },
  { path: '/metrics', read: readMetrics },
] as const

/**
 * What asks a server how many requests it has: by llama.cpp's list of slots, or by its metrics, whichever it was first seen to
 * have. The answer is undefined when it has neither.
 */
export function createCounter(
  client: UpstreamClient,
  endpoint: Endpoint,
  signal: AbortSignal,
): () => Promise<RunningRequests | undefined> {
  let found: (typeof pages)[number] | undefined
  const text = async (path: string): Promise<string> => {
    const limit = { timeoutMs: answerTimeoutMs, tooLate: () => new Error(`no answer within ${answerTimeoutMs} ms`) }
    try {
      return await withTimeLimit(signal, limit, async (limited) => {
        const body = await client.stream(endpoint, { method: 'GET', path, fromRoot: true }, limited)
        return (await body.readAll(mostBytes)).toString('utf8')
      })
    } catch {
      signal.throwIfAborted()
      // Most servers have no such page, or show it to nobody.
      return ''
    }
  }
  return async () => {
    for (const page of found === undefined ? pages : [found]) {
      const running = page.read(await text(page.path))
      if (running === undefined) continue
      found = page
      return running
    }
    return undefined
  }
}

/** Undefined when it is no list of slots. */
export function readSlots(text: string): RunningRequests | undefined {
  try {
    const states = asArray(JSON.parse(text)).map((slot) => asObject(slot)?.is_processing)
    if (states.length === 0 || states.some((state) => typeof state !== 'boolean')) return undefined
    return { count: states.filter((state) => state === true).length, isLate: false }
  } catch {
    // Another page.
    return undefined
  }
}

/** Prometheus' text; the sum over all engines of a server. Undefined when no known number is among them. */
export function readMetrics(text: string): RunningRequests | undefined {
  let found: RunningRequests | undefined
  for (const [, name = '', value] of text.matchAll(/^([a-zA-Z_:][\w:]*)(?:\{.*\})?[ \t]+([\d.eE+-]+)/gm)) {
    const timing = gauges.get(name)
    if (timing === undefined) continue
    found = { count: (found?.count ?? 0) + Number(value), isLate: found?.isLate === true || timing === 'late' }
  }
  return found
}
