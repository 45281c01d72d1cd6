import { parentPort } from 'node:worker_threads'

/** A thread that spins for as many milliseconds as it is told, and then sends the number back; a negative number makes it fail. */
parentPort.on('message', (ms) => {
  if (ms < 0) throw new Error('broken')
  const endMs = performance.now() + ms
  while (performance.now() < endMs);
  parentPort.postMessage(ms)
})
parentPort.postMessage('ready')
