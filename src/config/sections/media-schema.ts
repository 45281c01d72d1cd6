import { z } from 'zod'
import { parseBlock } from '../../media/address.ts'
import { defaultCache, defaultFiles, defaultLimits, defaultMemoryBytes } from '../../media/limits.ts'
import { amount, count, optionalText } from './value-types.ts'

const perKind = (defaults: Readonly<Record<'image' | 'audio' | 'video' | 'file', number>>, meaning: string) =>
  z
    .strictObject({
      image: count.default(defaults.image).describe('Of an image.'),
      audio: count.default(defaults.audio).describe('Of audio.'),
      video: count.default(defaults.video).describe('Of a video.'),
      file: count.default(defaults.file).describe('Of a document.'),
    })
    .prefault({})
    .describe(meaning)

const domain = z
  .string()
  .regex(/^[\w.-]+$/, 'must be a host name such as images.example.com')
  .toLowerCase()

const address = z
  .string()
  .refine((text) => parseBlock(text) !== undefined, 'must be an address, or a block of them such as 10.1.0.0/16')

/** The allowed sources of media in requests, and their limits. */
export const media = z
  .strictObject({
    urls: z
      .enum(['on', 'off'])
      .default('on')
      .describe(
        'Whether http: and https: URLs are fetched. Only public addresses are asked, whatever a URL, a name or a redirect says.',
      ),
    allowedDomains: z
      .array(domain)
      .exactOptional()
      .describe('The only hosts that are asked, each with all below it. Absent: all with public addresses.'),
    allowedAddresses: z
      .array(address)
      .default([])
      .describe(
        'Addresses that are asked though they are not public, such as that of an image server of your own; also for pages that ' +
          'tools read, and MCP servers of requests. Every caller can then reach every port there.',
      ),
    allowedLocalPath: optionalText.describe(
      'A folder of this machine; callers can name any file below it. Absent: no file is read.',
    ),
    ffmpeg: optionalText.describe(
      'ffmpeg, as a name on PATH or a path: sound that a model cannot decode becomes WAV, and videos become pictures for models that ' +
        'read pictures only. Absent: they are refused.',
    ),
    maxItems: count.default(defaultLimits.maxItems).describe('Media of one request.'),
    maxBytes: perKind(defaultLimits.maxBytes, 'Bytes of one image, audio, video or document.'),
    maxTotalBytes: count.default(defaultLimits.maxTotalBytes).describe('Bytes of all media of a request.'),
    maxPixels: count.default(defaultLimits.maxPixels).describe('Width times height of an image, by its header.'),
    maxSeconds: count.default(defaultLimits.maxSeconds).describe('Seconds of audio, by its header (WAV, FLAC and MP3).'),
    timeoutMs: perKind(defaultLimits.timeoutMs, 'How long fetching one may take, with its redirects.'),
    files: z
      .strictObject({
        maxBytes: amount.default(defaultFiles.maxBytes).describe('Bytes of all files of one caller; 0: uploads are off.'),
        maxCount: count.default(defaultFiles.maxCount).describe('Files of one caller.'),
      })
      .prefault({})
      .describe(
        'What callers upload with POST /v1/files and refer to by id. It is kept in the data folder until they delete it.',
      ),
    memoryBytes: count
      .default(defaultMemoryBytes)
      .describe('Memory for the fetched and read media of all requests in flight; beyond it, a request gets 503.'),
    cacheBytes: amount
      .default(defaultCache.maxBytes)
      .describe('Memory for media that were fetched, for an hour and the same caller; 0 keeps none.'),
  })
  .prefault({})
  .describe('Images, audio, videos and documents that requests refer to; see docs/media.md.')
