import { ReadableStream } from 'node:stream/web'
import type { FetchLike } from '@modelcontextprotocol/client'
import { Agent, fetch, Headers, Response } from 'undici'
import { createGuardedConnect, type Guard } from '../../media/guarded-connect.ts'
import { type Budget, callScope, maxReplyBytes, TooMuch } from './call-scope.ts'

/** The limit of the event stream that lasts as long as the connection, including its reopenings. */
const maxStreamBytes = 32 * 1024 * 1024
const connectTimeoutMs = 8000

/**
 * The fetch of an MCP client: it follows no redirect to another origin, bounds replies, and `close` ends every connection. With a guard, it
 * connects only to public addresses.
 */
export function createMcpFetch({
  guard,
  resumes,
  onStreamEnd,
}: {
  readonly guard?: Guard | undefined
  /** Ended streams are requested again; a page in place of one is not a stream. */
  readonly resumes: boolean
  onStreamEnd(error: Error | undefined): void
}): { readonly fetch: FetchLike; close(): Promise<void> } {
  const closing = new AbortController()
  const connect = guard === undefined ? { timeout: connectTimeoutMs } : createGuardedConnect(guard, closing.signal)
  const agent = new Agent({ connect, headersTimeout: 0, bodyTimeout: 0 })
  const ofStreams: Budget = { bytes: 0, maxBytes: maxStreamBytes }
  const boundedFetch = async (url: string | URL, init: RequestInit = {}) => {
    const isStream = init.method === undefined || init.method === 'GET'
    const call = callScope.getStore()
    const answers = call?.answers ?? 0
    const signals = [init.signal, call?.stopped].filter((signal) => signal !== undefined && signal !== null)
    const headers = new Headers(init.headers as ConstructorParameters<typeof Headers>[0])
    // The last id of this call, even if the last stream had no event.
    if (isStream && call?.lastEventId !== undefined) headers.set('last-event-id', call.lastEventId)
    const signal = AbortSignal.any([...signals, closing.signal])
    const options = { ...init, headers, redirect: 'manual', dispatcher: agent, signal }
    const response = await fetch(url, options as Parameters<typeof fetch>[1])
    const isEvents = response.headers.get('content-type')?.includes('text/event-stream') === true
    if (resumes && isStream && response.ok && !isEvents) {
      await response.body?.cancel()
      call?.lose(new Error('it ended its reply, and had no rest of it'))
      return new Response(null, { status: 405 })
    }
    const { status, statusText, body } = response
    if (isStream && status >= 400 && status < 500)
      call?.lose(new Error(`it ended its reply, and refused the rest with status ${status}`))
    const onEnd = (error?: Error) => {
      if (call === undefined) {
        if (isStream) onStreamEnd(error)
      } else if (error instanceof TooMuch || (!isStream && (isEvents || error !== undefined))) call.onReplyEnd(answers, error)
    }
    if (body === null) return response
    const budget = call?.budget ?? (isStream ? ofStreams : { bytes: 0, maxBytes: maxReplyBytes })
    return new Response(ReadableStream.from(bounded(body, budget, onEnd)), { status, statusText, headers: response.headers })
  }
  return {
    // The same interface, declared by two packages.
    fetch: boundedFetch as unknown as FetchLike,
    async close() {
      closing.abort()
      await agent.destroy()
    },
  }
}

async function* bounded(
  body: AsyncIterable<Uint8Array>,
  budget: Budget,
  onEnd: (error?: Error) => void,
): AsyncGenerator<Uint8Array, void, void> {
  let failure: Error | undefined
  try {
    for await (const piece of body) {
      budget.bytes += piece.byteLength
      if (budget.bytes > budget.maxBytes) throw new TooMuch(`it sent more than ${budget.maxBytes / 1024 ** 2} MiB`)
      yield piece
    }
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error))
    throw error
  } finally {
    onEnd(failure)
  }
}
