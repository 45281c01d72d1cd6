// Starts a worker whose main thread is blocked for ever, prints its process id, and lives until it is killed.
import { fileURLToPath } from 'node:url'
import { spawnWorker } from '../../../src/engine/llama/process.ts'

process.env.NODE_OPTIONS = `--require ${fileURLToPath(new URL('../process/block-main.cjs', import.meta.url))}`
const worker = spawnWorker({
  onReport: () => undefined,
  onLine: (line) => {
    if (line === 'busy') console.log(worker.pid)
  },
})
setInterval(() => undefined, 1000)
