import { createRequire } from 'node:module'
import { AppError, messageOf } from '../../contract/errors.ts'
import type { ImageForm, MediaBytes } from '../../contract/media.ts'
import type { ImageJob } from './image-job.ts'
import { argsOfScript } from './own-script.ts'
import { ProgramFailure, runProgram } from './run-program.ts'

/** The decoder of each type; libvips has others, which are more code than they are worth. */
const decoders: Readonly<Record<string, string>> = {
  'image/png': 'VipsForeignLoadPngBuffer',
  'image/jpeg': 'VipsForeignLoadJpegBuffer',
  'image/gif': 'VipsForeignLoadNsgifBuffer',
  'image/webp': 'VipsForeignLoadWebpBuffer',
  'image/avif': 'VipsForeignLoadHeifBuffer',
  'image/heic': 'VipsForeignLoadHeifBuffer',
}
const timeoutMs = 30_000
/** A decoded image of the most pixels, as PNG, is not larger. */
const maxBytesPerPixel = 4

/** Whether sharp is installed: an optional peer. */
export function hasSharp(): boolean {
  try {
    createRequire(import.meta.url).resolve('sharp')
    return true
  } catch {
    return false
  }
}

type ImageLimits = { readonly maxPixels: number }

/** The bytes of an image as `form` says, by sharp in a process of its own. A JPEG stays one, all else becomes PNG. */
export async function convertImage(
  media: MediaBytes,
  { form, limits: { maxPixels } }: { readonly form: ImageForm; readonly limits: ImageLimits },
  signal: AbortSignal,
): Promise<Buffer> {
  const decoder = decoders[media.mediaType]
  if (decoder === undefined) throw unreadable(media, 'sharp is not used for this type')
  const job: ImageJob = { decoder, maxPixels, output: outputOf(media), ...form }
  const args = [...argsOfScript('image-worker'), JSON.stringify(job)]
  const input = Buffer.from(media.base64, 'base64')
  const maxOutputBytes = maxPixels * maxBytesPerPixel
  try {
    return await runProgram({ command: process.execPath, args, input, maxOutputBytes, timeoutMs }, signal)
  } catch (error) {
    if (error instanceof ProgramFailure) throw unreadable(media, lastLine(messageOf(error)))
    throw error
  }
}

export function outputOf({ mediaType }: MediaBytes): ImageJob['output'] {
  return mediaType === 'image/jpeg' ? 'image/jpeg' : 'image/png'
}

/** The line with the message of an uncaught error. */
function lastLine(text: string): string {
  const line = text.split('\n').find((candidate) => /^\w*Error: /.test(candidate.trim()))
  return (line ?? text)
    .trim()
    .replace(/^\w*Error: /, '')
    .slice(0, 200)
}

function unreadable({ mediaType }: MediaBytes, reason: string): AppError {
  // Patents keep the decoder out of the npm package.
  const hint = mediaType === 'image/heic' ? ' (the sharp of npm has no decoder for HEIC)' : ''
  const message = `this ${mediaType} cannot be converted for the model: ${reason}${hint}; send a PNG or a JPEG`
  return new AppError('invalid-request', message)
}
