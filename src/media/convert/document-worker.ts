// The process that reads one document: `node document-worker.js MAX_MEMORY_BYTES text|pictures < file > json`. See convert-document.ts.
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { Picture } from '../../documents/parts.ts'
import { type ReadDocument, readDocument } from '../../documents/read-document.ts'
import type { DrawnPicture } from './convert-document.ts'
import { encodePng } from './encode-png.ts'

const watchMs = 20

if (isMainThread) await supervise()
else parentPort?.postMessage(await readDocument(workerData.bytes, workerData.task === 'pictures' ? asPng : undefined))

function asPng(picture: Picture): DrawnPicture {
  return { png: encodePng(picture).toString('base64') }
}

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
  const job = { task: process.argv[3], bytes: Buffer.concat(pieces) }
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: job })
  worker.once('message', reply)
  worker.once('error', (error: Error & { code?: string }) => {
    if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') reply(tooMuch)
    else throw error
  })
}

function reply(read: ReadDocument<DrawnPicture>): void {
  process.stdout.write(JSON.stringify(read), () => process.exit())
}
