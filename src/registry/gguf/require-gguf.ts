import { type FileHandle, open } from 'node:fs/promises'
import { AppError } from '../../contract/errors.ts'
import { formatBytes } from '../names/format-bytes.ts'
import { readGgufFacts } from './gguf-facts.ts'
import { readGgufSize } from './gguf-size.ts'
import { readFileHeader, readFirstBytes } from './read-file-header.ts'

const readableText = /^[\t\n\r\x20-\x7e]+$/
const shownChars = 40
/** The versions that the embedded llama.cpp reads. */
const knownVersions: readonly number[] = [2, 3]

/**
 * Throws `model-unavailable` unless the file begins like a GGUF file and is as long as its header says. `quotes`: the message quotes a
 * readable beginning, which often shows what was served instead, such as an HTML page; not for local files, which may contain anything.
 */
export async function requireGguf(file: string, { quotes = false }: { readonly quotes?: boolean } = {}): Promise<void> {
  const handle = await open(file)
  try {
    const { size } = await handle.stat()
    const begin = (await readFirstBytes(handle, shownChars)).toString('latin1')
    if (begin.startsWith('GGUF')) return await requireWhole(handle, size)
    const shown = begin.startsWith('version https://git-lfs.')
      ? ' but a pointer of Git LFS: fetch the file itself (git lfs pull)'
      : quotes && readableText.test(begin)
        ? `; it begins with ${JSON.stringify(begin)}`
        : ''
    throw new AppError('model-unavailable', size === 0 ? 'the file is empty' : `this is not a GGUF file${shown}`)
  } finally {
    await handle.close()
  }
}

/** Whether a file has the first bytes of a GGUF file. Rejects when it cannot be read. */
export async function beginsLikeGguf(file: string): Promise<boolean> {
  const handle = await open(file)
  try {
    return (await readFirstBytes(handle, 4)).toString('latin1') === 'GGUF'
  } finally {
    await handle.close()
  }
}

async function requireWhole(handle: FileHandle, size: number): Promise<void> {
  const found = await readFileHeader(handle, readGgufSize)
  switch (found.type) {
    case 'unknown':
      return
    case 'known':
      if (found.value <= size) return
      throw new AppError(
        'model-unavailable',
        `the file is ${formatBytes(size)} of ${formatBytes(found.value)} (bytes missing: ${found.value - size}): it was truncated; fetch it again`,
      )
    case 'incomplete':
      throw new AppError(
        'model-unavailable',
        `the file has ${formatBytes(size)} and ends within its header: it was truncated or damaged; fetch it again`,
      )
  }
}

/**
 * Throws `model-unavailable` for a GGUF file whose header the embedded engine cannot read: node-llama-cpp reads an unknown version like a
 * known one, for minutes, until memory runs out. The user's own llama-server may know more.
 */
export async function requireReadableGguf(file: string): Promise<void> {
  const handle = await open(file)
  try {
    const begin = await readFirstBytes(handle, 8)
    if (begin.length < 8 || begin.toString('latin1', 0, 4) !== 'GGUF') return
    const version = begin.readUInt32LE(4)
    if (!knownVersions.includes(version)) {
      const isBigEndian = knownVersions.includes(begin.readUInt32BE(4))
      const what = isBigEndian ? 'is big-endian' : `has version ${version} of the GGUF format`
      throw unreadable(`the file ${what}`)
    }
    const found = await readFileHeader(handle, (first) => {
      const facts = readGgufFacts(first)
      return facts.type === 'known' ? readGgufSize(first) : facts
    })
    if (found.type === 'unknown') throw unreadable(found.why)
  } finally {
    await handle.close()
  }
}

function unreadable(what: string): AppError {
  const known = `the embedded engine reads versions ${knownVersions.join(' and ')}, little-endian`
  return new AppError(
    'model-unavailable',
    `${what}; ${known}: fetch or convert the model again, or serve it with a newer llama-server`,
  )
}
