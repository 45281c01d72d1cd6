import { setTimeout as pause } from 'node:timers/promises'
import { parseJson } from '../base/json.ts'
import { SseDecoder } from '../base/text/sse-decoder.ts'
import { messageOf } from '../contract/errors.ts'
import type { Ask, Exchange, Meanwhile, StreamEvent } from './probe/exchange.ts'

export type Address = { readonly url: string; readonly apiKey?: string | undefined }

type SendOptions = {
  /** How long a reply may take. */
  readonly limitMs: number
  /** Ends the request, as when a client leaves. */
  readonly signal?: AbortSignal
  /** The first event of a stream is here. */
  readonly onBegun?: () => void
}

/** More than any reply to a check has: what comes behind it is not read, so that no server fills the memory. */
export const mostBytes = 8 * 1024 * 1024
export const tooLong = `the reply is longer than ${mostBytes / 1024 / 1024} MiB`

/** Sends a request and reads the whole reply. Never rejects: a failure is in the exchange. */
export async function sendAsk(address: Address, ask: Ask, { limitMs, signal, onBegun }: SendOptions): Promise<Exchange> {
  const startedMs = performance.now()
  const since = () => performance.now() - startedMs
  const limit = AbortSignal.timeout(ask.limitMs ?? limitMs)
  const ends = signal === undefined ? limit : AbortSignal.any([limit, signal])
  const events: StreamEvent[] = []
  let [status, text, failure] = [0, '', undefined as string | undefined]
  let isCut = false
  let headers: Readonly<Record<string, string>> = {}
  try {
    const method = ask.method ?? (ask.body === undefined && ask.text === undefined ? 'GET' : 'POST')
    const body = ask.text ?? (ask.body === undefined ? null : JSON.stringify(ask.body))
    // Another server that it sends to would get the key: fetch takes off only `authorization`.
    const init = { method, body, headers: headersOf(address, ask), redirect: 'manual', signal: ends } as const
    const reply = await fetch(address.url + ask.path, init)
    status = reply.status
    headers = Object.fromEntries(reply.headers)
    const read = readerOf(headers['content-type'] ?? '', (event) => events.push({ ...event, atMs: since() }))
    const decoder = new TextDecoder()
    let size = 0
    for await (const bytes of reply.body ?? []) {
      size += bytes.length
      if (size > mostBytes) {
        failure = tooLong
        break
      }
      text += decoder.decode(bytes, { stream: true })
      read?.(bytes)
      if (events.length > 0) onBegun?.()
      if (events.length >= (ask.enoughEvents ?? Number.POSITIVE_INFINITY)) {
        isCut = true
        break
      }
    }
  } catch (error) {
    const seconds = Math.round((ask.limitMs ?? limitMs) / 1000)
    failure = limit.aborted ? `the reply has not ended after ${seconds} s` : `the connection failed: ${causeOf(error)}`
  }
  const json = events.length > 0 ? undefined : parseJson(text)
  return {
    ask,
    status,
    headers,
    text,
    json,
    events,
    ms: since(),
    ...(isCut && { isCut }),
    ...(failure !== undefined && { failure }),
  }
}

function headersOf({ apiKey }: Address, { headers, isWrongKey, path }: Ask): Record<string, string> {
  const key = isWrongKey ? 'sk-a-key-that-nobody-made' : apiKey
  const isMessages = path.startsWith('/v1/messages')
  return {
    'content-type': 'application/json',
    ...(isMessages && { 'anthropic-version': '2023-06-01' }),
    ...headers,
    ...(key !== undefined && (isMessages ? { 'x-api-key': key } : { authorization: `Bearer ${key}` })),
  }
}

/** Takes the events of a stream from its bytes; undefined for other replies. */
function readerOf(type: string, onEvent: (event: Omit<StreamEvent, 'atMs'>) => void): ((bytes: Uint8Array) => void) | undefined {
  if (type.includes('event-stream')) {
    const decoder = new SseDecoder()
    return (bytes) => {
      for (const { event, data } of decoder.push(bytes))
        onEvent({ ...(event !== undefined && { name: event }), data, json: parseJson(data) })
    }
  }
  if (!type.includes('ndjson')) return undefined
  const decoder = new TextDecoder()
  let rest = ''
  return (bytes) => {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const data of lines) if (data.trim() !== '') onEvent({ data, json: parseJson(data) })
  }
}

/** Undici's `fetch failed` has the reason in its cause. */
function causeOf(error: unknown): string {
  return messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error)
}

/** How long the others are given to start. */
const startMs = 400

/** Sends a request while others run, or after their clients have left. */
export async function sendMeanwhile(address: Address, { besides, ask, leaves }: Meanwhile, limitMs: number): Promise<Exchange> {
  const leaving = new AbortController()
  let over = 0
  const others = besides.map((other) => {
    let onBegun: () => void = () => undefined
    const begun = new Promise<void>((resolve) => {
      onBegun = resolve
    })
    const ended = sendAsk(address, other, { limitMs, signal: leaving.signal, onBegun }).then(() => {
      over += 1
      onBegun()
    })
    return { ended, begun }
  })
  // Whole replies show no beginning; and where there are fewer slots than requests, some streams never begin.
  await Promise.race([Promise.all(others.map(({ begun }) => begun)), pause(startMs)])
  const running = others.length - over
  if (leaves) {
    leaving.abort()
    await Promise.all(others.map(({ ended }) => ended))
  }
  const exchange = await sendAsk(address, ask, { limitMs })
  leaving.abort()
  await Promise.all(others.map(({ ended }) => ended))
  return { ...exchange, running }
}
