import type { Ran, Run } from '../loads.ts'
import { openConnections } from '../raw-load.ts'

/** One of the processes that make load: each message is a measurement, whose result it answers. */
async function run({ durationMs, ...options }: Run): Promise<Ran> {
  const clients = await openConnections(options)
  const startedMs = performance.now()
  const replies = await clients.run(durationMs)
  const ms = performance.now() - startedMs
  clients.close()
  return { replies, ms }
}

process.on('message', async (message: Run) => {
  try {
    process.send?.(await run(message))
  } catch (error) {
    process.send?.({ error: error instanceof Error ? error.message : String(error) })
  }
})
process.on('disconnect', () => process.exit(0))
process.send?.({})
