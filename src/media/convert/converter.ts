import { hash } from 'node:crypto'
import { imageDimensionsFromData } from 'image-dimensions'
import { isMisdrawn } from '../../base/misdrawn.ts'
import { Queue } from '../../base/queue.ts'
import { AppError } from '../../contract/errors.ts'
import type { MediaBytes, MediaConverter } from '../../contract/media.ts'
import { fileAsText } from '../../documents/as-message.ts'
import type { ReadDocument } from '../../documents/read-document.ts'
import { convertDocument, type DrawnPicture } from './convert-document.ts'
import { convertImage, hasSharp, outputOf } from './convert-image.ts'
import { type FfmpegOptions, toFrames, toWav } from './ffmpeg.ts'
import { RecentResults } from './recent-results.ts'

type ConverterOptions = {
  /** A name on PATH, or a path; absent: audio is not converted, and videos are not taken apart. */
  readonly ffmpeg?: string
  readonly maxPixels: number
  readonly maxSeconds: number
}

/** Concurrent conversions: each is a process that fills a core. */
const maxAtOnce = 2
/** Each may take much memory. */
const documentsAtOnce = 1
/** EXIF is one of the first segments, each of at most 64 KiB; transparency is said before the pixels. */
const headChars = 256 * 1024

/** Converts with sharp, where it is installed, with ffmpeg, where it is configured, and reads documents itself. */
export function createMediaConverter(options: ConverterOptions): MediaConverter {
  const { maxPixels } = options
  const queue = new Queue(maxAtOnce)
  const results = new RecentResults(queue, charsOf)
  const documents = new RecentResults<ReadDocument<DrawnPicture>>(new Queue(documentsAtOnce), charsOfDocument)
  const hasImages = hasSharp()
  return {
    hasImages,
    isMisdrawn: ({ base64 }) => isMisdrawn(Buffer.from(base64.slice(0, headChars), 'base64')),
    async image(media, form, signal) {
      if (!hasImages) throw noSharp(media)
      const key = `${media.sha256} image ${form.maxEdge ?? ''}`
      const make = async () => {
        const bytes = await convertImage(media, { form, limits: { maxPixels } }, signal)
        return [imageOf(bytes, outputOf(media))]
      }
      return only(await results.get(key, make, signal))
    },
    async audio(media, signal) {
      const program = ffmpegOf(options, audioAdvice(media))
      const make = async () => [bytesOf(await toWav(media, program, signal), 'audio/wav')]
      return only(await results.get(`${media.sha256} audio`, make, signal))
    },
    async recording(media, signal) {
      const program = ffmpegOf(options, audioAdvice(media))
      return queue.run(signal, () => toWav(media, program, signal))
    },
    async document(media, { filename, sees }, signal) {
      const key = `${media.sha256} ${sees ? 'pictures' : 'text'}`
      const read = await documents.get(key, () => convertDocument(media, sees, signal), signal)
      if (!('parts' in read)) throw unreadFile(filename, read)
      const parts = read.parts.map((part) =>
        typeof part === 'string' ? part : imageOf(Buffer.from(part.png, 'base64'), 'image/png'),
      )
      const [first] = parts
      const [text, rest] = typeof first === 'string' ? [first, parts.slice(1)] : ['', parts]
      return [fileAsText(filename, text).trimEnd(), ...rest]
    },
    async frames(media, signal) {
      const program = ffmpegOf(options, 'the model reads pictures, and videos could be taken apart with it')
      const make = async () => (await toFrames(media, program, signal)).map((bytes) => imageOf(bytes, 'image/png'))
      return await results.get(`${media.sha256} frames`, make, signal)
    },
  }
}

function unreadFile(filename: string | undefined, { problem }: { readonly problem: string }): AppError {
  const named = filename === undefined ? '' : ` '${filename.slice(0, 80)}'`
  return new AppError('invalid-request', `the file${named} ${problem}`)
}

function charsOfDocument(read: ReadDocument<DrawnPicture>): number {
  const parts = 'parts' in read ? read.parts : []
  return parts.reduce((sum, part) => sum + (typeof part === 'string' ? part : part.png).length, 0)
}

function charsOf(result: readonly MediaBytes[]): number {
  return result.reduce((sum, { base64 }) => sum + base64.length, 0)
}

function ffmpegOf({ ffmpeg: program, maxSeconds, maxPixels }: ConverterOptions, advice: string): FfmpegOptions {
  if (program !== undefined) return { program, maxSeconds, maxPixels }
  throw new AppError('unsupported-field', `this needs ffmpeg, and media.ffmpeg is not set in the configuration: ${advice}`)
}

function audioAdvice({ mediaType }: MediaBytes): string {
  return `the model reads no ${mediaType}; send WAV or MP3`
}

function noSharp({ mediaType }: MediaBytes): AppError {
  const message = `the model reads no ${mediaType}, and sharp, which would convert it, is not installed; send a PNG or a JPEG`
  return new AppError('unsupported-field', message)
}

function imageOf(bytes: Buffer, mediaType: string): MediaBytes {
  const size = imageDimensionsFromData(bytes)
  return { ...bytesOf(bytes, mediaType), ...(size !== undefined && { width: size.width, height: size.height }) }
}

function bytesOf(bytes: Buffer, mediaType: string): MediaBytes {
  return {
    type: 'bytes',
    base64: bytes.toString('base64'),
    sizeBytes: bytes.length,
    sha256: hash('sha256', bytes),
    mediaType,
  }
}

function only([first]: readonly MediaBytes[]): MediaBytes {
  if (first === undefined) throw new Error('a conversion gave nothing')
  return first
}
