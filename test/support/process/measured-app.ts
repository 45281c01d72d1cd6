import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { protocolNames } from '../../../src/engine/remote/servers/profile.ts'
import { startApp } from '../http/app.ts'

/**
 * A server over one upstream, to be measured from outside: each line of its input is answered with what happened since the last.
 * A stall is the CPU time of the main thread between two ticks of a timer: other processes on a busy machine do not count.
 */
const [url = '', named] = process.argv.slice(2)
const protocol = protocolNames.find((name) => name === named) ?? 'chat'
const app = await startApp(
  {
    media: { allowedAddresses: ['127.0.0.1'] },
    models: [{ id: 'm', engine: 'remote', endpoints: [{ url }], protocol, probe: false, load: 'demand' }],
  },
  // Kept lines would be memory that requests leave behind.
  { keepsLog: () => false },
)
let peakBytes = 0
let stallMs = 0
const warnings: string[] = []
process.on('warning', ({ message }) => warnings.push(message))
let lastMs = cpuMs()
setInterval(() => {
  const nowMs = cpuMs()
  stallMs = Math.max(stallMs, nowMs - lastMs)
  lastMs = nowMs
  peakBytes = Math.max(peakBytes, process.memoryUsage().rss)
}, 5)
process.stdout.write(`${JSON.stringify({ url: app.url })}\n`)
for await (const _ of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify({ stallMs, peakBytes, warnings })}\n`)
  globalThis.gc?.()
  // Neither the collection itself nor its stall is counted.
  await pause(20)
  stallMs = 0
  peakBytes = process.memoryUsage().rss
}
await app.close()
process.exit()

/** Of the thread that reads it, in milliseconds; only Linux reports it. */
function cpuMs(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6
  } catch {
    return 0
  }
}
