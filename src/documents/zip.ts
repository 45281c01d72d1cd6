import { DocumentProblem, maxUnpackedBytes } from './problem.ts'

export type Zip = {
  readonly names: readonly string[]
  /** The text of an entry; undefined: there is no such entry. */
  text(name: string): Promise<string | undefined>
}

const endSignature = 0x06054b50
const directorySignature = 0x02014b50
const localSignature = 0x04034b50
const endBytes = 22
const maxCommentBytes = 65_535
const maxEntries = 10_000
const stored = 0
const deflated = 8

/** Whether bytes begin as those of a ZIP file. */
export function isZip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 3 && bytes[3] === 4
}

/** Reads the directory of a ZIP file. All texts together unpack to at most `maxBytes`. */
export function openZip(bytes: Uint8Array, maxBytes = maxUnpackedBytes): Zip {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const entries = readDirectory(bytes, view)
  let totalBytes = 0
  const count = (sizeBytes: number) => {
    totalBytes += sizeBytes
    if (totalBytes <= maxBytes) return
    throw new DocumentProblem('too-large', `unpacks to more than ${maxBytes / 1e6} MB, so it is not read`)
  }
  const text = async (name: string) => {
    const entry = entries.get(name)
    return entry === undefined ? undefined : decode(await unpack(packed(bytes, view, entry), entry.method, count))
  }
  return { names: [...entries.keys()], text }
}

type Entry = { readonly method: number; readonly sizeBytes: number; readonly offset: number }

function readDirectory(bytes: Uint8Array, view: DataView): ReadonlyMap<string, Entry> {
  const end = findEnd(view)
  const entries = new Map<string, Entry>()
  const entryCount = view.getUint16(end + 10, true)
  if (entryCount > maxEntries) throw new DocumentProblem('too-large', `has ${entryCount} entries, so it is not read`)
  let at = view.getUint32(end + 16, true)
  for (let index = 0; index < entryCount; index++) {
    if (at + 46 > bytes.length || view.getUint32(at, true) !== directorySignature)
      throw damaged('its ZIP directory is incomplete')
    const nameEnd = at + 46 + view.getUint16(at + 28, true)
    const flags = view.getUint16(at + 8, true)
    if ((flags & 1) === 1) throw new DocumentProblem('encrypted', 'is encrypted: remove its password')
    entries.set(new TextDecoder().decode(bytes.subarray(at + 46, nameEnd)), {
      method: view.getUint16(at + 10, true),
      sizeBytes: view.getUint32(at + 20, true),
      offset: view.getUint32(at + 42, true),
    })
    at = nameEnd + view.getUint16(at + 30, true) + view.getUint16(at + 32, true)
  }
  return entries
}

function findEnd(view: DataView): number {
  const last = view.byteLength - endBytes
  for (let at = last; at >= Math.max(0, last - maxCommentBytes); at--) if (view.getUint32(at, true) === endSignature) return at
  throw damaged('its ZIP directory is missing')
}

function packed(bytes: Uint8Array, view: DataView, { offset, sizeBytes }: Entry): Uint8Array<ArrayBuffer> {
  if (offset + 30 > bytes.length || view.getUint32(offset, true) !== localSignature) throw damaged('a part of the ZIP is missing')
  const start = offset + 30 + view.getUint16(offset + 26, true) + view.getUint16(offset + 28, true)
  if (start + sizeBytes > bytes.length) throw damaged('a part of the ZIP is incomplete')
  return bytes.subarray(start, start + sizeBytes) as Uint8Array<ArrayBuffer>
}

async function unpack(raw: Uint8Array<ArrayBuffer>, method: number, count: (sizeBytes: number) => void): Promise<Uint8Array> {
  if (method === stored) {
    count(raw.length)
    return raw
  }
  if (method !== deflated) throw damaged(`its parts are compressed by method ${method}, which is not read`)
  const pieces: Uint8Array<ArrayBuffer>[] = []
  const unpacked = new Blob([raw]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
  // The sizes in the directory may lie: bytes are counted as they come. Safari has no `for await` over streams.
  const write = (piece: Uint8Array<ArrayBuffer>) => {
    count(piece.length)
    pieces.push(piece)
  }
  await unpacked.pipeTo(new WritableStream({ write }))
  return new Uint8Array(await new Blob(pieces).arrayBuffer())
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder(bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : 'utf-8').decode(bytes)
}

function damaged(what: string): DocumentProblem {
  return new DocumentProblem('damaged', `is damaged: ${what}`)
}
