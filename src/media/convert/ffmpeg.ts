import { writeWav } from '../../base/wav.ts'
import { AppError, messageOf } from '../../contract/errors.ts'
import type { MediaBytes } from '../../contract/media.ts'
import { ProgramFailure, runProgram } from './run-program.ts'

/**
 * The one demuxer for each type. Left to guess, ffmpeg would also read playlists, which name other files.
 */
const demuxers: Readonly<Record<string, string>> = {
  'audio/mp4': 'mov',
  'audio/aac': 'aac',
  'audio/ogg': 'ogg',
  'audio/webm': 'matroska',
  'audio/wav': 'wav',
  'audio/mpeg': 'mp3',
  'audio/flac': 'flac',
  'audio/x-flac': 'flac',
  'audio/aiff': 'aiff',
  'audio/amr': 'amr',
  'video/mp4': 'mov',
  'video/quicktime': 'mov',
  'video/x-m4v': 'mov',
  'video/webm': 'matroska',
  'video/matroska': 'matroska',
  'video/x-matroska': 'matroska',
  'video/x-msvideo': 'avi',
  'video/vnd.avi': 'avi',
  'video/ogg': 'ogg',
  'video/mpeg': 'mpeg',
}

/** The sample rate that speech models read. */
const rate = 16_000
const bytesPerSample = 2
const framesPerSecond = 2
const maxFrames = 128
/** The longest edge of a frame: 128 of them must fit into a context. */
const frameEdge = 512
const timeoutMs = 120_000

export type FfmpegOptions = { readonly program: string; readonly maxSeconds: number; readonly maxPixels: number }

/** Audio as WAV, with one channel of 16 kHz. */
export async function toWav(media: MediaBytes, options: FfmpegOptions, signal: AbortSignal): Promise<Buffer> {
  const maxBytes = options.maxSeconds * rate * bytesPerSample
  const output = ['-vn', '-sn', '-dn', '-ac', '1', '-ar', `${rate}`, '-f', 's16le', 'pipe:1']
  // One second more than allowed, to tell too long from just fitting.
  const limits = { maxSeconds: options.maxSeconds + 1, maxOutputBytes: maxBytes }
  const samples = await run(media, { ...options, ...limits, output }, signal)
  if (samples.length === 0) throw unreadable(media, 'it holds no sound')
  return writeWav(samples, { frameBytes: bytesPerSample, framesPerSecond: rate })
}

/** Frames as PNG, in order: two for each second; videos longer than 64 seconds get the same number, spread evenly. */
export async function toFrames(media: MediaBytes, options: FfmpegOptions, signal: AbortSignal): Promise<readonly Buffer[]> {
  const seconds = (media.durationMs ?? 0) / 1000
  const fps = Math.min(framesPerSecond, seconds > 0 ? maxFrames / seconds : framesPerSecond)
  const scale = `scale=w='min(${frameEdge},iw)':h='min(${frameEdge},ih)':force_original_aspect_ratio=decrease`
  const picked = ['-vf', `fps=${fps.toFixed(6)},${scale}`, '-frames:v', `${maxFrames}`]
  const output = ['-an', '-sn', '-dn', ...picked, '-c:v', 'png', '-f', 'image2pipe', 'pipe:1']
  const maxOutputBytes = maxFrames * frameEdge * frameEdge * 3
  const frames = splitPngs(await run(media, { ...options, output, maxOutputBytes }, signal))
  if (frames.length === 0) throw unreadable(media, 'it holds no pictures')
  return frames
}

type FfmpegJob = FfmpegOptions & { readonly output: readonly string[]; readonly maxOutputBytes: number }

async function run(
  media: MediaBytes,
  { program, maxSeconds, maxPixels, output, maxOutputBytes }: FfmpegJob,
  signal: AbortSignal,
): Promise<Buffer> {
  const demuxer = demuxers[media.mediaType]
  if (demuxer === undefined) throw unreadable(media, 'it is of a type that is not converted')
  // `cache:` lets it seek in its input; no protocol that opens a file or an address is allowed.
  const input = ['-protocol_whitelist', 'pipe,cache', '-read_ahead_limit', '-1', '-f', demuxer, '-i', 'cache:pipe:0']
  // Decoders keep up to sixteen frames.
  const bounds = ['-threads', '1', '-max_pixels', `${maxPixels}`, '-t', `${maxSeconds}`]
  const args = ['-nostdin', '-hide_banner', '-loglevel', 'error', ...bounds, ...input, ...output]
  const bytes = Buffer.from(media.base64, 'base64')
  try {
    return await runProgram({ command: program, args, input: bytes, maxOutputBytes, timeoutMs }, signal)
  } catch (error) {
    if (!(error instanceof ProgramFailure)) throw error
    if (error.reason === 'not-found') {
      const message = `media.ffmpeg is '${program}', which was not found`
      throw new AppError('unsupported-field', `${message}; send WAV or MP3, or pictures instead of a video`)
    }
    if (error.reason === 'too-large') throw unreadable(media, `it is longer than the limit of ${maxSeconds} seconds`)
    throw unreadable(media, messageOf(error).split('\n').at(-1)?.slice(0, 200) ?? '')
  }
}

function unreadable({ mediaType }: MediaBytes, reason: string): AppError {
  return new AppError('invalid-request', `this ${mediaType} cannot be converted for the model: ${reason}`)
}

const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')

/** The files in a stream of PNGs. An incomplete file at the end is left out. */
function splitPngs(stream: Buffer): readonly Buffer[] {
  const files: Buffer[] = []
  let start = 0
  while (stream.subarray(start, start + signature.length).equals(signature)) {
    let at = start + signature.length
    let type = ''
    while (type !== 'IEND' && at + 12 <= stream.length) {
      type = stream.toString('latin1', at + 4, at + 8)
      // Length, type and checksum around the content.
      at += 12 + stream.readUInt32BE(at)
    }
    if (type !== 'IEND' || at > stream.length) break
    files.push(stream.subarray(start, at))
    start = at
  }
  return files
}
