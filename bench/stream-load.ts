import { Agent, request } from 'node:http'

export type StreamLoad = {
  /** Every stream has had its first event. */
  readonly opened: Promise<void>
  /** The latency of each event in milliseconds, by the send time in it, once all streams have ended. */
  readonly finished: Promise<readonly number[]>
  close(): void
}

type LoadOptions = { readonly url: string; readonly body: string; readonly count: number; readonly overMs?: number }

/** Opens streams whose events contain their send time (`@nanoseconds@`): all at once, or spread over `overMs`. */
export async function openStreams({ url, body, count, overMs = 0 }: LoadOptions): Promise<StreamLoad> {
  const agent = new Agent({ maxSockets: count, keepAlive: true })
  const delays: number[] = []
  const streams: ReturnType<typeof openStream>[] = []
  for (let opened = 0; opened < count; opened++) {
    streams.push(openStream({ url, body, agent, delays }))
    if (overMs > 0) await new Promise((resolve) => setTimeout(resolve, overMs / count))
  }
  // Some are closed while running.
  const finished = Promise.all(streams.map(({ ended }) => ended)).then(() => delays)
  finished.catch(() => undefined)
  return {
    opened: Promise.all(streams.map(({ opened }) => opened)).then(() => undefined),
    finished,
    close: () => {
      for (const { close } of streams) close()
      agent.destroy()
    },
  }
}

function openStream({ url, body, agent, delays }: { url: string; body: string; agent: Agent; delays: number[] }) {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  const outgoing = request(`${url}/v1/chat/completions`, { method: 'POST', agent, headers })
  let onOpened: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    onOpened = resolve
  })
  const ended = new Promise<void>((resolve, reject) => {
    outgoing.once('error', reject)
    outgoing.once('response', (incoming) => {
      incoming.setEncoding('utf8')
      incoming.on('data', (piece: string) => {
        const now = process.hrtime.bigint()
        for (const [, sent = '0'] of piece.matchAll(/@(\d+)@/g)) delays.push(Number(now - BigInt(sent)) / 1e6)
        onOpened()
      })
      incoming.once('end', resolve)
      incoming.once('error', reject)
    })
  })
  outgoing.end(body)
  return { opened, ended, close: () => outgoing.destroy() }
}
