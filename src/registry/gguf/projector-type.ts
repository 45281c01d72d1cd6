import { open } from 'node:fs/promises'
import { type FromHeader, readHeader } from './gguf-cursor.ts'
import { readMetadata } from './gguf-metadata.ts'
import { readFileHeader } from './read-file-header.ts'

/** llama.cpp's name for how a projector reads pictures, such as `mlp`; undefined if its GGUF file does not name one. */
export async function readProjectorType(path: string): Promise<string | undefined> {
  const handle = await open(path)
  try {
    const found = await readFileHeader(handle, projectorTypeIn)
    return found.type === 'known' ? found.value : undefined
  } finally {
    await handle.close()
  }
}

function projectorTypeIn(begin: Buffer): FromHeader<string | undefined> {
  return readHeader(begin, (cursor) => {
    cursor.skip(8)
    const metadata = readMetadata(cursor)
    // One key for all media, or one for each kind.
    const type = metadata.get('clip.projector_type') ?? metadata.get('clip.vision.projector_type')
    return typeof type === 'string' ? type : undefined
  })
}
