import { open } from 'node:fs/promises'
import { type FromHeader, readHeader } from './gguf-cursor.ts'
import { readMetadata } from './gguf-metadata.ts'
import { readFileHeader } from './read-file-header.ts'

/** Architectures whose models only draft: they read what another model computes. */
const drafting: Readonly<Record<string, 'mtp' | 'eagle3'>> = { eagle3: 'eagle3', 'gemma4-assistant': 'mtp' }

/** How the file of a draft model drafts, by its architecture; undefined for whole models, and where that cannot be read. */
export async function draftTypeOf(path: string): Promise<'mtp' | 'eagle3' | undefined> {
  const handle = await open(path)
  try {
    const found = await readFileHeader(handle, architectureIn)
    return found.type === 'known' ? drafting[found.value] : undefined
  } finally {
    await handle.close()
  }
}

function architectureIn(begin: Buffer): FromHeader<string> {
  return readHeader(begin, (cursor) => {
    cursor.skip(8)
    return String(readMetadata(cursor).get('general.architecture'))
  })
}
