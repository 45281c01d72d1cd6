import { open } from 'node:fs/promises'
import { readHeader } from './gguf-cursor.ts'
import { readMetadata } from './gguf-metadata.ts'
import { readFileHeader } from './read-file-header.ts'

/**
 * The names of the model that an adapter's file was made for, as its metadata has them; undefined for a file that is not an adapter.
 * Rejects where the file cannot be read.
 */
export async function readAdapterBase(path: string): Promise<readonly string[] | undefined> {
  const handle = await open(path)
  const found = await readFileHeader(handle, (begin) =>
    readHeader(begin, (cursor) => {
      cursor.skip(8)
      return readMetadata(cursor)
    }),
  ).finally(() => handle.close())
  if (found.type !== 'known' || found.value.get('general.type') !== 'adapter') return undefined
  const texts = ['name', 'repo_url'].map((key) => found.value.get(`general.base_model.0.${key}`))
  return texts.flatMap((text) => (typeof text === 'string' && text !== '' ? [text.slice(text.lastIndexOf('/') + 1)] : []))
}
