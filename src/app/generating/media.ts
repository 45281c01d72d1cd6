import { join } from 'node:path'
import type { LoadedConfig } from '../../config/load.ts'
import type { FilePlace, FileStore } from '../../contract/file-store.ts'
import type { MediaConverter, MediaReader } from '../../contract/media.ts'
import { parseBlock } from '../../media/address.ts'
import { createMediaConverter } from '../../media/convert/converter.ts'
import { FileFolder } from '../../media/file-folder.ts'
import { maxBatchBytes } from '../../media/limits.ts'
import { createMediaReader } from '../../media/reader.ts'
import { UploadedFiles } from '../../media/uploaded-files.ts'

/**
 * What reads the media of requests, as the configuration allows, and what keeps those that callers upload: in `place`, or else in the data
 * folder.
 */
export function createConfiguredMedia(
  { media, home }: Pick<LoadedConfig, 'media' | 'home'>,
  place: FilePlace = new FileFolder(join(home, 'files')),
): { readonly media: MediaReader; readonly files?: FileStore } {
  const { urls, allowedDomains, allowedAddresses, allowedLocalPath, memoryBytes, cacheBytes, ffmpeg: _, ...limits } = media
  const allowed = allowedAddresses.map(parseBlock).filter((block) => block !== undefined)
  const maxFileBytes = Math.max(...Object.values(limits.maxBytes))
  const files =
    limits.files.maxBytes === 0 ? undefined : new UploadedFiles({ place, maxFileBytes, maxBatchBytes, ...limits.files })
  const reader = createMediaReader({
    limits,
    ...(urls === 'on' && { urls: { allowed, domains: allowedDomains } }),
    ...(allowedLocalPath !== undefined && { folder: allowedLocalPath }),
    ...(files !== undefined && { files }),
    memoryBytes,
    cache: { maxBytes: cacheBytes },
  })
  return { media: reader, ...(files !== undefined && { files }) }
}

/** What converts media for engines that cannot read them as they are. */
export function createConfiguredConverter({ media }: Pick<LoadedConfig, 'media'>): MediaConverter {
  const { ffmpeg, maxPixels, maxSeconds } = media
  return createMediaConverter({ maxPixels, maxSeconds, ...(ffmpeg !== undefined && { ffmpeg }) })
}
