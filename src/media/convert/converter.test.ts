import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { png, wav } from '../../../test/support/pictures.ts'
import { ffmpegHint, ffmpegProgram, synthesize } from '../../../test/support/process/ffmpeg.ts'
import { isMisdrawn } from '../../base/misdrawn.ts'
import type { MediaBytes } from '../../contract/media.ts'
import { createMediaConverter } from './converter.ts'

const never = new AbortController().signal
const limits = { maxPixels: 2 ** 22, maxSeconds: 10 }
const converter = createMediaConverter({ ...limits, ...(ffmpegProgram !== undefined && { ffmpeg: ffmpegProgram }) })
const without = createMediaConverter(limits)

function media(bytes: Buffer, mediaType: string, more: Partial<MediaBytes> = {}): MediaBytes {
  const base64 = bytes.toString('base64')
  return { type: 'bytes', base64, sizeBytes: bytes.length, sha256: hash('sha256', bytes), mediaType, ...more }
}

const contentOf = ({ base64 }: MediaBytes) => Buffer.from(base64, 'base64')
const black = (edge: number) => sharp({ create: { width: edge, height: edge, channels: 3, background: 'black' } })
const wide = () => sharp(png([200, 30, 30], { width: 60, height: 20 }))

describe('images, with sharp', () => {
  test.each(['webp', 'avif'] as const)('a %s becomes a PNG with the same pixels', async (format) => {
    const made = await wide()[format]({ lossless: true }).toBuffer()
    const result = await converter.image(media(made, `image/${format}`), {}, never)
    expect(result).toMatchObject({ mediaType: 'image/png', width: 60, height: 20 })
    const [red = 0, green = 0] = await sharp(contentOf(result)).raw().toBuffer()
    expect(red).toBeGreaterThan(190)
    expect(green).toBeLessThan(40)
  })

  test('a photograph that was taken sideways is turned upright, and says so no more', async () => {
    const turned = await wide().withMetadata({ orientation: 6 }).jpeg().toBuffer()
    expect(isMisdrawn(turned)).toBe(true)
    const result = await converter.image(media(turned, 'image/jpeg'), {}, never)
    expect(result).toMatchObject({ mediaType: 'image/jpeg', width: 20, height: 60 })
    expect(isMisdrawn(contentOf(result))).toBe(false)
  })

  test.each(['png', 'gif', 'webp'] as const)('what a %s lets through becomes white', async (format) => {
    const clear = { width: 60, height: 20, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } } as const
    const made = await sharp({ create: clear })[format]().toBuffer()
    // A WebP is converted for all who cannot decode it.
    expect(isMisdrawn(made)).toBe(format !== 'webp')
    // The encoder of GIF marks a colour that nothing uses.
    expect(isMisdrawn(await wide()[format]().toBuffer())).toBe(format === 'gif')
    const result = await converter.image(media(made, `image/${format}`), {}, never)
    expect([...(await sharp(contentOf(result)).raw().toBuffer()).subarray(0, 3)]).toEqual([255, 255, 255])
    expect(isMisdrawn(contentOf(result))).toBe(false)
  })

  test('a picture of few colours, one of which lets through, is found too', async () => {
    const clear = { width: 60, height: 20, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } } as const
    expect(isMisdrawn(await sharp({ create: clear }).png({ palette: true }).toBuffer())).toBe(true)
    expect(isMisdrawn(await wide().png({ palette: true }).toBuffer())).toBe(false)
  })

  test('a large picture fits into a square, a small one is left alone', async () => {
    const picture = media(await wide().png().toBuffer(), 'image/png')
    expect(await converter.image(picture, { maxEdge: 30 }, never)).toMatchObject({ width: 30, height: 10 })
    expect(await converter.image(picture, { maxEdge: 512 }, never)).toMatchObject({ width: 60, height: 20 })
  })

  test('the same picture is the same bytes again, without another process', async () => {
    const picture = media(await wide().webp().toBuffer(), 'image/webp')
    expect(await converter.image(picture, {}, never)).toBe(await converter.image(picture, {}, never))
  })

  test.each<[string, () => Promise<Buffer>, string]>([
    ['what is truncated', async () => (await wide().webp().toBuffer()).subarray(0, 60), 'image/webp'],
    // The type chooses the decoder: no other is tried.
    ['another type than it was recognised as', () => wide().png().toBuffer(), 'image/webp'],
    ['a type without a decoder', () => wide().tiff().toBuffer(), 'image/tiff'],
    ['more pixels than allowed', () => black(3000).webp({ effort: 0 }).toBuffer(), 'image/webp'],
  ])('%s is refused', async (_, make, mediaType) => {
    await expect(converter.image(media(await make(), mediaType), {}, never)).rejects.toMatchObject({
      code: 'invalid-request',
      message: expect.stringContaining('send a PNG or a JPEG'),
    })
  })

  test('HEIC, which the sharp of npm does not decode, is refused for what it is', async () => {
    const avif = (await wide().avif().toBuffer()).toString('latin1')
    // The same container, and the names of the other codec.
    const heic = Buffer.from(avif.replace('ftypavif', 'ftypheic').replaceAll('av01', 'hvc1').replaceAll('av1C', 'hvcC'), 'latin1')
    await expect(converter.image(media(heic, 'image/heic'), {}, never)).rejects.toMatchObject({
      code: 'invalid-request',
      message: expect.stringMatching(/no decoder for HEIC.*send a PNG or a JPEG/),
    })
  })

  test('a cancel ends the process', async () => {
    const large = await black(2000).webp({ effort: 0 }).toBuffer()
    const cancelled = new AbortController()
    const running = converter.image(media(large, 'image/webp'), {}, cancelled.signal)
    running.catch(() => undefined)
    await pause(50)
    cancelled.abort(new Error('no longer wanted'))
    await expect(running).rejects.toThrow('no longer wanted')
  })
})

describe.skipIf(ffmpegProgram === undefined)(`audio and video, with ffmpeg${ffmpegHint}`, () => {
  const tone = 'sine=frequency=440:sample_rate=44100'

  test.each<[string, readonly string[], string]>([
    ['m4a, whose index is at its end', ['-c:a', 'aac', '-f', 'ipod'], 'audio/mp4'],
    ['Ogg', ['-c:a', 'libvorbis', '-f', 'ogg'], 'audio/ogg'],
    ['WebM', ['-c:a', 'libopus', '-ar', '48000', '-f', 'webm'], 'audio/webm'],
  ])('%s becomes WAV with one channel', async (_, output, mediaType) => {
    const result = contentOf(await converter.audio(media(synthesize(tone, 1, output), mediaType), never))
    expect(result.toString('latin1', 0, 4)).toBe('RIFF')
    expect(result.readUInt16LE(22)).toBe(1)
    expect(result.readUInt32LE(24)).toBe(16_000)
    expect(result.length / 32_000).toBeCloseTo(1, 0)
  })

  test('sound that is longer than allowed is refused', async () => {
    await expect(converter.audio(media(wav(12), 'audio/wav'), never)).rejects.toMatchObject({
      code: 'invalid-request',
      message: expect.stringContaining('longer than the limit'),
    })
  })

  const video = (seconds: number) => synthesize('testsrc2=size=640x320:rate=10', seconds, ['-c:v', 'mpeg4', '-f', 'mp4'])

  test('a video becomes two pictures for each second, in order, small enough', async () => {
    const frames = await converter.frames(media(video(3), 'video/mp4', { durationMs: 3000 }), never)
    expect(frames).toHaveLength(6)
    for (const frame of frames) expect(frame).toMatchObject({ mediaType: 'image/png', width: 512, height: 256 })
    expect(new Set(frames.map(({ sha256 }) => sha256)).size).toBe(6)
  })

  test('a video of more pixels than allowed is not decoded', async () => {
    const large = synthesize('color=size=2100x2100:rate=1', 1, ['-c:v', 'mpeg4', '-f', 'mp4'])
    await expect(converter.frames(media(large, 'video/mp4'), never)).rejects.toMatchObject({ code: 'invalid-request' })
  })

  test('of a video without pictures, none are made', async () => {
    const sound = synthesize(tone, 1, ['-c:a', 'aac', '-f', 'mp4'])
    await expect(converter.frames(media(sound, 'video/mp4'), never)).rejects.toMatchObject({ code: 'invalid-request' })
  })

  test('a playlist that calls itself a video opens no file and no address', async () => {
    const playlist = Buffer.from('#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n')
    await expect(converter.frames(media(playlist, 'video/mp4'), never)).rejects.toMatchObject({ code: 'invalid-request' })
    await expect(converter.audio(media(playlist, 'audio/mpegurl'), never)).rejects.toMatchObject({ code: 'invalid-request' })
  })

  test('a cancel ends ffmpeg', async () => {
    const cancelled = new AbortController()
    const running = converter.frames(media(video(9), 'video/mp4'), cancelled.signal)
    running.catch(() => undefined)
    await pause(30)
    cancelled.abort(new Error('no longer wanted'))
    await expect(running).rejects.toThrow('no longer wanted')
  })
})

test('without ffmpeg, the setting is named, and what works', async () => {
  await expect(without.audio(media(wav(1), 'audio/ogg'), never)).rejects.toMatchObject({
    code: 'unsupported-field',
    message: expect.stringMatching(/media\.ffmpeg.*WAV or MP3/),
  })
  const missing = createMediaConverter({ ...limits, ffmpeg: 'no-such-program' })
  await expect(missing.audio(media(wav(1), 'audio/ogg'), never)).rejects.toThrow("'no-such-program', which was not found")
})
