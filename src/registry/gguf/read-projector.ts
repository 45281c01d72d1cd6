import { open } from 'node:fs/promises'
import { type FromHeader, readHeader } from './gguf-cursor.ts'
import { readMetadata } from './gguf-metadata.ts'
import { readFileHeader } from './read-file-header.ts'

export type ProjectorFacts = {
  /** llama.cpp's name for how it reads pictures, such as `mlp`, if the file names one. */
  readonly type?: string
  readonly readsImages: boolean
  readonly readsAudio: boolean
}

/** Reads the header of a projector; undefined if it cannot be read. Nothing is loaded. */
export async function readProjector(path: string): Promise<ProjectorFacts | undefined> {
  const handle = await open(path)
  try {
    const found = await readFileHeader(handle, factsIn)
    return found.type === 'known' ? found.value : undefined
  } finally {
    await handle.close()
  }
}

function factsIn(begin: Buffer): FromHeader<ProjectorFacts> {
  return readHeader(begin, (cursor) => {
    cursor.skip(8)
    const metadata = readMetadata(cursor)
    // One key for all media, or one for each kind.
    const type = metadata.get('clip.projector_type') ?? metadata.get('clip.vision.projector_type')
    return {
      ...(typeof type === 'string' && { type }),
      readsImages: metadata.get('clip.has_vision_encoder') === true,
      readsAudio: metadata.get('clip.has_audio_encoder') === true,
    }
  })
}
