import { readWav, type Wav, writeWav } from '../../base/wav.ts'

/** A recording to transcribe, in pieces that a model hears one by one; each is made when it is taken. */
export type Windows = { readonly pieces: Iterable<Buffer>; readonly durationMs?: number }

const longestSeconds = 30
/** A piece ends at the quietest moment of its last seconds, so that no word is cut. */
const soughtSeconds = 6
const momentsPerSecond = 20

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
  return { pieces: piecesOf(found, { frames, longest }), durationMs }
}

function* piecesOf(
  wav: Wav,
  { frames, longest }: { readonly frames: number; readonly longest: number },
): Generator<Buffer, void, void> {
  const { samples, frameBytes, framesPerSecond } = wav
  for (let start = 0; start < frames; ) {
    const isLast = frames - start <= longest
    const end = isLast ? frames : quietestIn(wav, start + longest - soughtSeconds * framesPerSecond, start + longest)
    yield writeWav(samples.subarray(start * frameBytes, end * frameBytes), wav)
    start = end
  }
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
