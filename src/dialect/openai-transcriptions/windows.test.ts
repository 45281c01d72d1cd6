import { describe, expect, test } from 'vitest'
import { silence, wav } from '../../../test/support/pictures.ts'
import { windowsOf as windows } from './windows.ts'

const samplesOf = (piece: Buffer) => piece.subarray(44)
const secondsOf = (piece: Buffer) => samplesOf(piece).length / 2 / 16_000

const windowsOf = (bytes: Buffer) => ({ ...windows(bytes), pieces: [...windows(bytes).pieces] })

describe('a recording', () => {
  test.each([5, 30])('of %i seconds is one piece, as it is', (seconds) => {
    const bytes = wav(seconds)
    const { pieces, durationMs } = windowsOf(bytes)
    expect(durationMs).toBe(seconds * 1000)
    expect(pieces.map((piece) => piece.equals(bytes))).toEqual([true])
  })

  test('that is longer is divided where it is quiet, and nothing is lost', () => {
    const bytes = wav(70)
    const quiet = [27.5, 53] as const
    for (const at of quiet) bytes.fill(0, 44 + (at - 0.2) * 32_000, 44 + (at + 0.2) * 32_000)
    const { pieces, durationMs } = windowsOf(bytes)
    expect(durationMs).toBe(70_000)
    expect(Buffer.concat(pieces.map(samplesOf)).equals(samplesOf(bytes))).toBe(true)
    const ends = pieces
      .slice(0, -1)
      .map((_, index) => pieces.slice(0, index + 1).reduce((sum, piece) => sum + secondsOf(piece), 0))
    expect(ends).toHaveLength(2)
    for (const [index, end] of ends.entries()) expect(Math.abs(end - (quiet[index] ?? 0))).toBeLessThan(0.25)
    for (const piece of pieces) expect(windowsOf(piece).durationMs).toBe(secondsOf(piece) * 1000)
  })

  test.each([0, 0xff_ff_ff_ff])('of a program that could not write its size (%i) is divided, too', (size) => {
    const bytes = wav(40)
    bytes.writeUInt32LE(size, 40)
    expect(windowsOf(bytes)).toMatchObject({ durationMs: 40_000, pieces: { length: 2 } })
  })

  test('with other chunks in front of its samples, in the extended format, is divided, too', () => {
    const plain = wav(40)
    const format = Buffer.alloc(48)
    format.write('fmt ')
    format.writeUInt32LE(40, 4)
    plain.copy(format, 8, 20, 36)
    format.writeUInt16LE(0xff_fe, 8)
    format.writeUInt16LE(1, 32)
    const list = Buffer.from('LIST\x05\0\0\0title\0', 'latin1')
    const { pieces, durationMs } = windowsOf(Buffer.concat([plain.subarray(0, 12), list, format, list, plain.subarray(36)]))
    expect(durationMs).toBe(40_000)
    expect(Buffer.concat(pieces.map(samplesOf)).equals(samplesOf(plain))).toBe(true)
    expect(pieces).toHaveLength(2)
  })

  test('that is not divided here is one piece', () => {
    const mp3 = Buffer.from('ID3 and so on')
    expect(windowsOf(mp3)).toEqual({ pieces: [mp3] })
    const bytes = silence(8000 * 40)
    expect(windowsOf(bytes).pieces.map((piece) => piece.equals(bytes))).toEqual([true])
    expect(windowsOf(Buffer.alloc(3)).pieces).toHaveLength(1)
  })
})
