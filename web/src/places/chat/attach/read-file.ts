import type { ReadDocument } from '../../../../../src/documents/read-document.ts'
import { readText } from '../../../../../src/documents/text.ts'
import { chatTexts } from '../../../texts/chat.ts'
import type { Job } from './worker.ts'

const mostMs = 30_000

/** The text of a file, as the server would read it: in a worker that ends after a time, unless it is plain text. */
export async function readFile(file: File): Promise<ReadDocument> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  const text = readText(bytes)
  if (text !== undefined) return text === '' ? { reason: 'no-text', problem: chatTexts.emptyFile } : { kind: 'text', text }
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' })
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    return await new Promise((resolve, reject) => {
      timer = setTimeout(() => resolve({ reason: 'too-large', problem: chatTexts.tooSlowFile }), mostMs)
      const { port1: port, port2 } = new MessageChannel()
      port.onmessage = ({ data }: MessageEvent<ReadDocument>) => resolve(data)
      worker.onerror = ({ message }) => reject(new Error(message))
      const job: Job = { bytes, port: port2 }
      worker.postMessage(job, [bytes.buffer, port2])
    })
  } catch (error) {
    return { reason: 'damaged', problem: chatTexts.unreadFile(error instanceof Error ? error.message : String(error)) }
  } finally {
    clearTimeout(timer)
    worker.terminate()
  }
}
