import { readDocument } from '../../../../../src/documents/read-document.ts'

/** One file, and where its `ReadDocument` goes: pdf.js says things of its own to the owner of a worker. */
export type Job = { readonly bytes: Uint8Array; readonly port: MessagePort }

self.addEventListener(
  'message',
  ({ data: { bytes, port } }: MessageEvent<Job>) => {
    void readDocument(bytes).then((read) => port.postMessage(read))
  },
  { once: true },
)
