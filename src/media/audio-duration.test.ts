import { expect, test } from 'vitest'
import { silence } from '../../test/support/pictures.ts'
import { readDurationMs } from './audio-duration.ts'

/** A WAV of 100 ms with empty chunks before its data. */
function wavWith(chunks: number): Buffer {
  const wav = silence()
  const junk = Buffer.alloc(8 * chunks, Buffer.from('junk\0\0\0\0', 'latin1'))
  const data = wav.indexOf('data')
  return Buffer.concat([wav.subarray(0, data), junk, wav.subarray(data)])
}

test('a WAV lasts as long as it says, after as many chunks as programs write, but not after millions', () => {
  expect(readDurationMs(wavWith(0), 'audio/wav')).toBe(100)
  expect(readDurationMs(wavWith(50), 'audio/wav')).toBe(100)
  expect(readDurationMs(wavWith(3_000_000), 'audio/wav')).toBeUndefined()
})
