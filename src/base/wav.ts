/** RIFF WAVE (IBM and Microsoft, 1991), with samples of 16 bits: the form in which models hear. */

/** A frame is one sample of each channel. */
export type Wav = WavFormat & { readonly samples: Buffer }
type WavFormat = { readonly frameBytes: number; readonly framesPerSecond: number }

const headBytes = 44
const pcm = 1
/** `WAVE_FORMAT_EXTENSIBLE`: the format is the first number of the sub-format. */
const extensible = 0xff_fe
/** Recorders write some dozen chunks before the samples. */
const maxChunks = 1000

/** Undefined unless it is a WAV file with samples of 16 bits. */
export function readWav(content: Uint8Array): Wav | undefined {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.length)
  if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WAVE') return undefined
  let format: WavFormat | undefined
  for (const { name, chunk } of chunksOf(bytes)) {
    if (name === 'fmt ') format = readFormat(chunk)
    if (name === 'data') return format && { samples: chunk, ...format }
  }
  return undefined
}

/** `chunk`: as much as there is of the `size` that it claims. */
type Chunk = { readonly name: string; readonly size: number; readonly chunk: Buffer }

/** The chunks of a file of RIFF. Programs that write to a pipe cannot write the size of the samples: those without one are the rest. */
export function* chunksOf(bytes: Buffer): Generator<Chunk, void, void> {
  for (let at = 12, count = 0; at + 8 <= bytes.length && count < maxChunks; count += 1) {
    const name = bytes.toString('latin1', at, at + 4)
    const [claimed, rest] = [bytes.readUInt32LE(at + 4), bytes.length - at - 8]
    const size = name === 'data' && (claimed === 0 || claimed === 0xff_ff_ff_ff) ? rest : claimed
    yield { name, size, chunk: bytes.subarray(at + 8, at + 8 + size) }
    at += 8 + size + (size % 2)
  }
}

function readFormat(content: Buffer): WavFormat | undefined {
  if (content.length < 16) return undefined
  const [named, channels, bits] = [content.readUInt16LE(0), content.readUInt16LE(2), content.readUInt16LE(14)]
  const format = named === extensible && content.length >= 26 ? content.readUInt16LE(24) : named
  const framesPerSecond = content.readUInt32LE(4)
  if (format !== pcm || bits !== 16 || channels === 0 || framesPerSecond === 0) return undefined
  return { frameBytes: channels * 2, framesPerSecond }
}

export function writeWav(samples: Buffer, { frameBytes, framesPerSecond }: WavFormat): Buffer {
  const head = Buffer.alloc(headBytes)
  head.write('RIFF', 0)
  head.writeUInt32LE(headBytes - 8 + samples.length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(pcm, 20)
  head.writeUInt16LE(frameBytes / 2, 22)
  head.writeUInt32LE(framesPerSecond, 24)
  head.writeUInt32LE(framesPerSecond * frameBytes, 28)
  head.writeUInt16LE(frameBytes, 32)
  head.writeUInt16LE(16, 34)
  head.write('data', 36)
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}
