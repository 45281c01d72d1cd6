import { spawnServer } from '../../../src/engine/llama-server/spawn-server.ts'

/** A parent to be killed: it starts what its arguments say, and reports the process ids once that writes a line. */
const [binary = '', ...args] = process.argv.slice(2)
const server = spawnServer({
  binary,
  args,
  apiKey: 'key',
  onLine: (line) => process.stdout.write(`${JSON.stringify({ pid: server.pid, line })}\n`),
})
await server.exited
