// Preloaded into a worker: blocks its main thread for ever once the worker watches its parent, as a native step without an end would.
const { isMainThread } = require('node:worker_threads')

if (isMainThread) {
  process.on('worker', (thread) => {
    // The loader has threads too; the watching one is the smallest.
    if (thread.resourceLimits.maxOldGenerationSizeMb !== 8) return
    thread.once('online', () => {
      console.log('busy')
      for (;;);
    })
  })
}
