import { writeSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { setImmediate as turn } from 'node:timers/promises'
import { encodeCheckpoints } from './checkpoint-file.ts'
import type { Checkpoint } from './checkpoints.ts'

/** The tokens of a sequence, and llama.cpp's state of them. */
export type SequenceState = {
  readonly tokens: Int32Array
  readonly state: Uint8Array
  /** Where it can return to; absent: anywhere. */
  readonly checkpoints: readonly Checkpoint[] | undefined
}

/** How llama.cpp begins the file of a sequence: these two numbers, the number of tokens, and the tokens, all of 32 bits. */
const magic = 0x67677371
const version = 3
const headerBytes = 12
/** A state in memory begins with a number and the sequence, which one in a file lacks. */
const stateHeaderBytes = 8
/** Takes less than a millisecond to hand to the system (measured). */
const chunkBytes = 1 << 20

/**
 * Writes what llama.cpp would have written of the sequence, and its checkpoints. In this thread, in chunks: with few cores, libuv's pool has
 * one thread, which computes passes, and each write of a pool would wait for a pass to end.
 */
export async function writeSequenceFile(path: string, { tokens, state, checkpoints }: SequenceState): Promise<void> {
  const points = checkpoints === undefined ? [] : encodeCheckpoints(checkpoints)
  const file = await open(path, 'w')
  try {
    for (const part of [Uint32Array.of(magic, version, tokens.length), tokens, state.subarray(stateHeaderBytes), ...points]) {
      const bytes = new Uint8Array(part.buffer, part.byteOffset, part.byteLength)
      for (let at = 0; at < bytes.length; ) {
        at += writeSync(file.fd, bytes, at, Math.min(chunkBytes, bytes.length - at))
        await turn()
      }
    }
  } finally {
    await file.close()
  }
}

export async function readSequenceTokens(file: FileHandle): Promise<Int32Array> {
  const { size } = await file.stat()
  const header = new Uint32Array(headerBytes / 4)
  await file.read(header, 0, headerBytes, 0)
  const [foundMagic, foundVersion, count = 0] = header
  const isKnown = foundMagic === magic && foundVersion === version && headerBytes + 4 * count <= size
  if (!isKnown) throw new Error('it is not the file of a sequence')
  const tokens = new Int32Array(count)
  if (count > 0) await file.read(tokens, 0, tokens.byteLength, headerBytes)
  return tokens
}
