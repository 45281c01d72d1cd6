// Starts a worker whose main thread is blocked for ever, prints its process id, and lives until it is killed.
import { spawnWorker } from '../../src/engine/llama/process.ts'

const blockMain = `process.once('worker', (thread) => {
  // Until then the worker is still being started.
  thread.once('online', () => {
    console.log('busy')
    for (;;);
  })
})`
process.env.NODE_OPTIONS = `--import "data:text/javascript,${encodeURIComponent(blockMain)}"`
const worker = spawnWorker({
  onReport: () => undefined,
  onLine: (line) => {
    if (line === 'busy') console.log(worker.pid)
  },
})
setInterval(() => undefined, 1000)
