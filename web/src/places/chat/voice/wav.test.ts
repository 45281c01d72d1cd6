import { expect, test } from 'vitest'
import { wavOf } from './wav.ts'

test('samples become a WAV file of 16 bits, cut at full volume', () => {
  const wav = Buffer.from(wavOf(Float32Array.of(0, 1, -1, 2), 16_000))
  expect(wav.toString('latin1', 0, 4) + wav.toString('latin1', 8, 16)).toBe('RIFFWAVEfmt ')
  expect([wav.readUInt32LE(4), wav.readUInt32LE(24), wav.readUInt32LE(40)]).toEqual([44, 16_000, 8])
  expect([0, 1, 2, 3].map((index) => wav.readInt16LE(44 + index * 2))).toEqual([0, 32_767, -32_767, 32_767])
})
