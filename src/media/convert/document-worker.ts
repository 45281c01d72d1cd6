// The process that reads one document: `node document-worker.js MAX_MEMORY_BYTES < file > json`. See convert-document.ts.
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { type ReadDocument, readDocument } from '../../documents/read-document.ts'

const watchMs = 20

if (isMainThread) await supervise()
else parentPort?.postMessage(await readDocument(workerData as Uint8Array))

/** Reads in a thread, so that this one sees how much memory the process takes. */
async function supervise(): Promise<void> {
  const maxMemoryBytes = Number(process.argv[2])
  const pieces: Buffer[] = []
  for await (const piece of process.stdin) pieces.push(piece)
  const tooMuch: ReadDocument = {
    reason: 'too-large',
    problem: `takes more than ${Math.round(maxMemoryBytes / 2 ** 20)} MiB of memory to read`,
  }
  setInterval(() => {
    if (process.memoryUsage.rss() > maxMemoryBytes) reply(tooMuch)
  }, watchMs)
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: Buffer.concat(pieces) })
  worker.once('message', reply)
  worker.once('error', (error: Error & { code?: string }) => {
    if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') reply(tooMuch)
    else throw error
  })
}

function reply(read: ReadDocument): void {
  process.stdout.write(JSON.stringify(read), () => process.exit())
}
