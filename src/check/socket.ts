import { parseJson } from '../base/json.ts'
import type { Ask, Exchange, StreamEvent } from './probe/exchange.ts'
import { type Address, mostBytes, tooLong } from './send.ts'

const ends = new Set(['response.completed', 'response.incomplete', 'response.failed', 'error'])

/** Sends messages over one WebSocket, each when the response before it has ended. `LAST` is the id of the response before. */
export async function sendOverSocket({ url, apiKey }: Address, ask: Ask, limitMs: number): Promise<Exchange> {
  const startedMs = performance.now()
  const since = () => performance.now() - startedMs
  const events: StreamEvent[] = []
  const waiting = [...(ask.socket ?? [])]
  // A header is an extension of Node.js: browsers have none.
  const options = { headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` } }
  const socket = new WebSocket(url.replace(/^http/, 'ws') + ask.path, options as never)
  const isOpen = { value: false }
  const failure = await new Promise<string | undefined>((resolve) => {
    const timer = setTimeout(() => resolve(`the socket has not answered after ${Math.round(limitMs / 1000)} s`), limitMs)
    const end = (reason: string | undefined) => {
      clearTimeout(timer)
      resolve(reason)
    }
    const next = (last: string) => {
      const message = waiting.shift()
      if (message === undefined) end(undefined)
      else socket.send(JSON.stringify(message).replaceAll('"LAST"', JSON.stringify(last)))
    }
    socket.onopen = () => {
      isOpen.value = true
      next('')
    }
    socket.onerror = () => end('the server does not open a WebSocket')
    socket.onclose = () => end('the server closed the socket before the response had ended')
    let size = 0
    socket.onmessage = ({ data }) => {
      size += String(data).length
      if (size > mostBytes) return end(tooLong)
      const json = parseJson(String(data)) as { type?: string; response?: { id?: string } } | undefined
      events.push({ data: String(data), json, atMs: since() })
      if (ends.has(json?.type ?? '')) next(json?.response?.id ?? '')
    }
  })
  socket.close()
  const status = isOpen.value ? 200 : 404
  const isLost = failure !== undefined && isOpen.value
  const text = failure ?? ''
  return { ask, status, headers: {}, text, json: undefined, events, ms: since(), ...(isLost && { failure }) }
}
