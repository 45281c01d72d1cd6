import { AsyncLocalStorage } from 'node:async_hooks'
import { ReadableStream } from 'node:stream/web'
import type { FetchLike } from '@modelcontextprotocol/client'
import { Agent, fetch, Response } from 'undici'
import { createGuardedConnect, type Guard } from '../../media/guarded-connect.ts'

/** A call whose requests are its own: they end with it, and it ends with the reply. */
export type CallScope = {
  readonly stop: AbortSignal
  onReplyEnd(error: Error | undefined): void
}

export const callScope = new AsyncLocalStorage<CallScope>()

/** Of the reply to one request. */
const maxReplyBytes = 8 * 1024 * 1024
/** Of a stream of events that lasts as long as the connection. */
const maxStreamBytes = 32 * 1024 * 1024
const connectTimeoutMs = 8000

/**
 * What a client of a server asks with: no redirect leads to another origin, replies are bounded, and `close` ends every connection. With a
 * guard, only public addresses are connected to.
 */
export function createMcpFetch({
  guard,
  onStreamEnd,
}: {
  readonly guard?: Guard | undefined
  onStreamEnd(error: Error | undefined): void
}): { readonly fetch: FetchLike; close(): Promise<void> } {
  const closing = new AbortController()
  const connect = guard === undefined ? { timeout: connectTimeoutMs } : createGuardedConnect(guard, closing.signal)
  const agent = new Agent({ connect, headersTimeout: 0, bodyTimeout: 0 })
  const boundedFetch = async (url: string | URL, init: RequestInit = {}) => {
    const isStream = init.method === undefined || init.method === 'GET'
    const call = callScope.getStore()
    const signals = [init.signal, call?.stop].filter((signal) => signal !== undefined && signal !== null)
    const options = { ...init, redirect: 'manual', dispatcher: agent, signal: AbortSignal.any([...signals, closing.signal]) }
    const response = await fetch(url, options as Parameters<typeof fetch>[1])
    const isEvents = response.headers.get('content-type')?.includes('text/event-stream') === true
    const onEnd = (error?: Error) => {
      if (isStream) onStreamEnd(error)
      else if (isEvents || error !== undefined) call?.onReplyEnd(error)
    }
    if (response.body === null) return response
    const body = ReadableStream.from(bounded(response.body, isStream ? maxStreamBytes : maxReplyBytes, onEnd))
    const { status, statusText, headers } = response
    return new Response(body, { status, statusText, headers })
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
  maxBytes: number,
  onEnd: (error?: Error) => void,
): AsyncGenerator<Uint8Array, void, void> {
  let failure: Error | undefined
  try {
    let size = 0
    for await (const piece of body) {
      size += piece.byteLength
      if (size > maxBytes) throw new Error(`it sent more than ${maxBytes / 1024 ** 2} MiB`)
      yield piece
    }
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error))
    throw error
  } finally {
    onEnd(failure)
  }
}
