/** A recording to transcribe, in pieces that a model hears one by one. */
export type Windows = { readonly pieces: readonly Buffer[]; readonly durationMs?: number }

const longestSeconds = 30
/** A piece ends at the quietest moment of its last seconds, so that no word is cut. */
const soughtSeconds = 6
const momentsPerSecond = 20
const headBytes = 44

/**
 * Divides a WAV file with samples of 16 bits into pieces that fit the encoders of models. Anything else is one piece: what reads
 * it divides it itself.
 */
export function windowsOf(bytes: Buffer): Windows {
  const found = readWav(bytes)
  if (found === undefined) return { pieces: [bytes] }
  const { samples, frameBytes, framesPerSecond } = found
  const frames = Math.floor(samples.length / frameBytes)
  const durationMs = (frames / framesPerSecond) * 1000
  const longest = longestSeconds * framesPerSecond
  if (frames <= longest) return { pieces: [bytes], durationMs }
  const pieces: Buffer[] = []
  for (let start = 0; start < frames; ) {
    const isLast = frames - start <= longest
    const end = isLast ? frames : quietestIn(found, start + longest - soughtSeconds * framesPerSecond, start + longest)
    pieces.push(wavWith(bytes, samples.subarray(start * frameBytes, end * frameBytes)))
    start = end
  }
  return { pieces, durationMs }
}

type Wav = { readonly samples: Buffer; readonly frameBytes: number; readonly framesPerSecond: number }

/** Undefined unless it is a WAV file as most programs write it: a plain header, and 16-bit samples. */
function readWav(bytes: Buffer): Wav | undefined {
  if (bytes.length < headBytes || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 36, 40) !== 'data')
    return undefined
  const [format, channels, bits] = [bytes.readUInt16LE(20), bytes.readUInt16LE(22), bytes.readUInt16LE(34)]
  const framesPerSecond = bytes.readUInt32LE(24)
  if (format !== 1 || bits !== 16 || channels === 0 || framesPerSecond === 0) return undefined
  return { samples: bytes.subarray(headBytes), frameBytes: channels * 2, framesPerSecond }
}

/** The frame in the middle of the quietest moment between two frames. */
function quietestIn({ samples, frameBytes, framesPerSecond }: Wav, from: number, to: number): number {
  const moment = Math.max(1, Math.floor(framesPerSecond / momentsPerSecond))
  let quietest = to
  let least = Number.POSITIVE_INFINITY
  for (let start = from; start + moment <= to; start += moment) {
    let loudness = 0
    for (let at = start * frameBytes; at < (start + moment) * frameBytes; at += 2) loudness += Math.abs(samples.readInt16LE(at))
    if (loudness >= least) continue
    least = loudness
    quietest = start + Math.floor(moment / 2)
  }
  return quietest
}

function wavWith(original: Buffer, samples: Buffer): Buffer {
  const head = Buffer.from(original.subarray(0, headBytes))
  head.writeUInt32LE(headBytes - 8 + samples.length, 4)
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}
