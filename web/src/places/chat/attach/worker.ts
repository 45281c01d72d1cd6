import type { Picture } from '../../../../../src/documents/parts.ts'
import { type ReadDocument, readDocument } from '../../../../../src/documents/read-document.ts'

/** One file, and where its `ReadFile` goes: pdf.js says things of its own to the owner of a worker. */
export type Job = { readonly bytes: Uint8Array; readonly port: MessagePort }

/** Pictures of pages as PNG. */
export type ReadFile = ReadDocument<Blob>

self.addEventListener(
  'message',
  ({ data: { bytes, port } }: MessageEvent<Job>) => {
    void readDocument(bytes, asPng).then((found) => port.postMessage(found))
  },
  { once: true },
)

function asPng({ width, height, channels, data }: Picture): Promise<Blob> {
  const canvas = new OffscreenCanvas(width, height)
  const pixels = new ImageData(width, height)
  for (let at = 0; at < width * height; at++) {
    for (let channel = 0; channel < 3; channel++) pixels.data[at * 4 + channel] = data[at * channels + (channel % channels)] ?? 0
    pixels.data[at * 4 + 3] = 255
  }
  canvas.getContext('2d')?.putImageData(pixels, 0, 0)
  return canvas.convertToBlob({ type: 'image/png' })
}
