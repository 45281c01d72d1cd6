// The time from a cancel until a reply with tools of the server has ended, and until what ran for it is gone, in each phase. Needs
// bubblewrap, and a machine with nothing else to do. `--rounds N`: 20 by default.
import { parseArgs } from 'node:util'
import { until } from '../test/support/http/app.ts'
import { phases, startCancelServer } from '../test/support/tools/cancel-server.ts'

const { rounds } = parseArgs({ options: { rounds: { type: 'string', default: '20' } } }).values
const server = await startCancelServer()
await server.complete('mcp')
const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0
const row = (values: readonly number[]) => `${Math.round(median(values))} ms | ${Math.round(Math.max(...values))} ms`
console.log('| phase | reply ended: median | longest | all gone: median | longest |\n| --- | --: | --: | --: | --: |')
for (const phase of phases) {
  const ended: number[] = []
  const gone: number[] = []
  for (let round = 0; round < Number(rounds); round += 1) {
    const id = `${phase}-${round}`
    const stream = server.open(phase, id)
    await server.running(phase)
    const startMs = performance.now()
    const isGone = until(async () => (await server.left()).length === 0).then(() => gone.push(performance.now() - startMs))
    await server.cancel(id)
    await stream.ended
    ended.push(performance.now() - startMs)
    await isGone
  }
  console.log(`| ${phase} | ${row(ended)} | ${row(gone)} |`)
}
await server.close()
