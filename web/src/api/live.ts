import { describe, send } from './client.ts'
import { connectionLost } from './connection.ts'
import { readEvents } from './sse.ts'

/**
 * Follows an event stream of the server until the signal: reconnects when it breaks, and announces that before events of the new stream.
 * `take` gets the parsed data of each event. A refusal ends it, with the server's message to `refused`.
 */
export async function follow(
  path: string,
  {
    take,
    opened,
    refused,
    signal,
  }: {
    take(event: string, data: unknown): void
    opened?(): void
    refused?(message: string): void
    signal: AbortSignal
  },
): Promise<void> {
  for (let waitMs = 500; !signal.aborted; waitMs = Math.min(waitMs * 2, 15_000)) {
    try {
      const stream = await send(path, { signal, headers: { accept: 'text/event-stream' } })
      opened?.()
      for await (const events of readEvents(stream)) {
        waitMs = 500
        for (const { event, data } of events) take(event, JSON.parse(data))
      }
    } catch (error) {
      if (signal.aborted) return
      const status = error instanceof Error ? Reflect.get(error, 'status') : undefined
      if (typeof status === 'number' && status >= 400 && status < 500) return refused?.(describe(error))
      connectionLost()
    }
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
}
