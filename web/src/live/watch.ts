import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { follow } from '../api/live.ts'
import { apiKey } from '../api/session.ts'
import { RequestList } from './request-list.ts'
import type { Device, LoadSample, ServerState, WatchedRequest } from './wire.ts'

export type DeviceSample = { readonly at_ms: number; readonly devices: readonly Device[] }

const list = new RequestList()

/** The state of the server according to the event stream; undefined until it has arrived. */
export const requests = signal<readonly WatchedRequest[] | undefined>(undefined)
export const server = signal<ServerState | undefined>(undefined)
export const samples = signal<readonly LoadSample[]>([])
/** The memory of GPUs at the samples since this page was opened: the server keeps no history of it. */
export const deviceSamples = signal<readonly DeviceSample[]>([])
/** Requests that the server had forgotten before this page could read them. */
export const missed = signal(0)
/** Why there is no stream, in the server's words. */
export const refusal = signal<string | undefined>(undefined)
/** Ticks once a second, for relative times. */
export const now = signal(Date.now())

let current: { readonly key: string | undefined; readonly stop: AbortController } | undefined

/** Follows the server once a place needs it; all places share one stream. Another key restarts it. */
export function useServer(): void {
  const key = apiKey.value
  useEffect(() => begin(key), [key])
}

/** Tries again after a refusal. */
export function beginAgain(): void {
  current?.stop.abort()
  current = undefined
  begin(apiKey.value)
}

function begin(key: string | undefined): void {
  if (current !== undefined && current.key === key) return
  current?.stop.abort()
  const stop = new AbortController()
  current = { key, stop }
  list.clear()
  pending = []
  clearTimeout(flushing)
  flushing = undefined
  requests.value = undefined
  server.value = undefined
  samples.value = []
  deviceSamples.value = []
  missed.value = 0
  refusal.value = undefined
  const timer = setInterval(() => {
    now.value = Date.now()
  }, 1000)
  stop.signal.addEventListener('abort', () => clearInterval(timer))
  const refused = (message: string) => {
    refusal.value = message
    current = undefined
    clearInterval(timer)
  }
  void follow('api/events?recent=10000', { take, opened: () => list.forgetRunning(), refused, signal: stop.signal })
}

const hour = 360

function take(event: string, data: unknown): void {
  if (event === 'server') server.value = data as ServerState
  else if (event === 'load') {
    const { samples: more } = data as { readonly samples: readonly LoadSample[] }
    const last = samples.value.at(-1)?.at_ms ?? 0
    const added = more.filter(({ at_ms }) => at_ms > last)
    samples.value = [...samples.value, ...added].slice(-hour)
    const [newest, devices] = [added.at(-1), server.value?.devices]
    if (newest !== undefined && devices !== undefined)
      deviceSamples.value = [...deviceSamples.value, { at_ms: newest.at_ms, devices }].slice(-hour)
  } else if (event === 'requests') {
    const { requests: more, missed: lost } = data as { readonly requests: readonly WatchedRequest[]; readonly missed: number }
    pending.push(...more)
    missed.value += lost
    // Thousands arrive in many events, and are sorted together.
    flushing ??= setTimeout(flush, requests.value === undefined ? 0 : flushMs)
  }
}

const flushMs = 50
let pending: WatchedRequest[] = []
let flushing: ReturnType<typeof setTimeout> | undefined

function flush(): void {
  flushing = undefined
  list.take(pending)
  pending = []
  requests.value = list.all
  now.value = Date.now()
}
