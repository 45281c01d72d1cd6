import { type ReadDocument, readDocument, unread } from '../../../../../src/documents/read-document.ts'
import { type Picture, readScan } from '../../../../../src/documents/scan.ts'

/** One file, and where its `ReadFile` goes: pdf.js says things of its own to the owner of a worker. */
export type Job = { readonly bytes: Uint8Array; readonly port: MessagePort }

/** The pages of a scan, as PNG. */
export type ReadFile = ReadDocument | { readonly pictures: readonly Blob[] }

self.addEventListener(
  'message',
  ({ data: { bytes, port } }: MessageEvent<Job>) => {
    void read(bytes).then((found) => port.postMessage(found))
  },
  { once: true },
)

async function read(bytes: Uint8Array): Promise<ReadFile> {
  const found = await readDocument(bytes)
  if (!('reason' in found) || found.reason !== 'no-text') return found
  try {
    const pictures = await readScan(bytes)
    return pictures.length === 0 ? found : { pictures: await Promise.all(pictures.map(asPng)) }
  } catch (error) {
    return unread(error)
  }
}

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
