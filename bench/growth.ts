import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { type BenchProcess, portOf, startDragoman } from './processes.ts'
import { openConnections } from './raw-load.ts'
import { grownRows, type Section } from './report/section.ts'
import { sizeName } from './sizes.ts'

const growth = { ratio: 'times the first', missing: [], isGrowth: true } as const

const fake = (id: string) => ({ id, engine: 'fake', script: 'from-request', slots: 16_384 })

/** The memory of one process with open streams, whose model is silent. */
export async function memoryOfStreams(sizes: readonly number[]): Promise<Section> {
  const server = await startDragoman([fake('m')], { storage: 'off' })
  const content = JSON.stringify({ raw: 'never', delayMs: 3_600_000 })
  const body = JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content }] })
  const head = 'POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n'
  const request = `${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  const sockets: Socket[] = []
  const points = new Map<string, readonly number[]>()
  for (const size of sizes) {
    while (sockets.length < size) {
      const more = Math.min(200, size - sockets.length)
      sockets.push(...(await Promise.all(Array.from({ length: more }, () => open(portOf(server), request)))))
    }
    while ((await busySlots(server)) < size) await pause(50)
    points.set(sizeName(size), [(await server.usage()).rssBytes / 1024 / 1024])
  }
  for (const socket of sockets) socket.destroy()
  server.stop()
  return { ...growth, title: 'memory of one process with N open streams', unit: 'MiB', rows: grownRows(points) }
}

type Durations = { readonly warmUpMs: number; readonly durationMs: number }

/** Requests that a server answers in a second with several models, each request for another one. */
export async function ratesOfModels(sizes: readonly number[], { warmUpMs, durationMs }: Durations): Promise<Section> {
  const points = new Map<string, readonly number[]>()
  for (const size of sizes) {
    const ids = Array.from({ length: size }, (_, index) => `model-${index}`)
    const server = await startDragoman(ids.map(fake), { storage: 'off' })
    const loads = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        openConnections({
          port: portOf(server),
          path: '/v1/chat/completions',
          body: JSON.stringify({ model: ids[(index * 7) % size], messages: [{ role: 'user', content: 'hello' }] }),
          count: 1,
        }),
      ),
    )
    const run = async (ms: number) => (await Promise.all(loads.map((load) => load.run(ms)))).reduce((sum, one) => sum + one, 0)
    await run(warmUpMs)
    points.set(sizeName(size), [((await run(durationMs)) / durationMs) * 1000])
    for (const load of loads) load.close()
    server.stop()
  }
  return { ...growth, title: 'requests to N models in turns', unit: 'requests/s', rows: grownRows(points) }
}

function open(port: number, request: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(request)
      resolve(socket)
    })
    socket.once('error', reject)
    socket.resume()
  })
}

async function busySlots({ url }: BenchProcess): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^dragoman_slots_busy\{model="m"\} (\d+)$/m.exec(text)?.[1] ?? 0)
}
