import { once } from 'node:events'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'

export type SocketEvent = {
  readonly type: string
  readonly stream_id?: string
  readonly status?: number
  readonly delta?: string
  readonly error?: { readonly code: string; readonly message: string; readonly param: string | null }
  readonly response?: { readonly id: string; readonly status: string; readonly output: readonly { type: string }[] }
}

/** A client of `GET /v1/responses`, connected. */
export async function openSocket(port: number, headers: Record<string, string> = {}, path = '/v1/responses') {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers })
  onTestFinished(() => socket.terminate())
  const received: SocketEvent[] = []
  const waiting = new Set<() => void>()
  socket.on('message', (data) => {
    received.push(JSON.parse(String(data)))
    for (const wake of [...waiting]) wake()
  })
  const closed = once(socket, 'close').then(([code]) => code as number)
  await once(socket, 'open')
  const send = (body: object) => socket.send(JSON.stringify({ type: 'response.create', model: 'default', ...body }))
  /** The first event from `from` on that matches. */
  const event = async (matches: (event: SocketEvent) => boolean, from = 0): Promise<SocketEvent> => {
    for (;;) {
      const found = received.slice(from).find(matches)
      if (found !== undefined) return found
      await new Promise<void>((resolve) => {
        const wake = () => {
          waiting.delete(wake)
          resolve()
        }
        waiting.add(wake)
      })
    }
  }
  /** Sends a request and resolves with its last event. */
  const turn = (body: object): Promise<SocketEvent> => {
    const from = received.length
    send(body)
    return event(({ type }) => endTypes.has(type), from)
  }
  return { socket, received, send, event, turn, closed }
}

const endTypes = new Set(['response.completed', 'response.incomplete', 'response.failed', 'error'])
