import { appendFile, type FileHandle, open } from 'node:fs/promises'
import type { Checkpoint } from './checkpoints.ts'

/**
 * Checkpoints behind what llama.cpp has written of a sequence, which reads its own part and no further: their states, then a table with
 * the last token and the bytes of each, then the number of them and this number, all of 32 bits.
 */
const magic = 0x64726370
const entryBytes = 8
const endBytes = 8

export async function appendCheckpoints(path: string, checkpoints: readonly Checkpoint[]): Promise<void> {
  for (const part of encodeCheckpoints(checkpoints)) await appendFile(path, part)
}

export function encodeCheckpoints(checkpoints: readonly Checkpoint[]): readonly NodeJS.TypedArray[] {
  const table = checkpoints.flatMap(({ last, state }) => [last, state.length])
  return [...checkpoints.map(({ state }) => state), Uint32Array.from([...table, checkpoints.length, magic])]
}

export async function readCheckpoints(path: string): Promise<Checkpoint[]> {
  const file = await open(path)
  try {
    const { entries, start } = await readTable(file)
    const found: Checkpoint[] = []
    let at = start - entries.reduce((sum, { bytes }) => sum + bytes, 0)
    for (const { last, bytes } of entries) {
      const state = new Uint8Array(bytes)
      await file.read(state, 0, bytes, at)
      found.push({ last, state })
      at += bytes
    }
    return found
  } finally {
    await file.close()
  }
}

/** The numbers of tokens that a sequence can return to, rising; undefined: the file has no checkpoints, and any number will do. */
export async function readCheckpointLengths(file: FileHandle): Promise<readonly number[] | undefined> {
  const { entries, isThere } = await readTable(file)
  return isThere ? entries.map(({ last }) => last + 1) : undefined
}

async function readTable(file: FileHandle) {
  const { size } = await file.stat()
  const [count = 0, found] = await readNumbers(file, size - endBytes, 2)
  const start = size - endBytes - count * entryBytes
  if (found !== magic || start < 0) return { entries: [], start: size, isThere: false }
  const numbers = await readNumbers(file, start, 2 * count)
  const entries = Array.from({ length: count }, (_, index) => ({
    last: numbers[2 * index] ?? 0,
    bytes: numbers[2 * index + 1] ?? 0,
  }))
  return { entries, start, isThere: true }
}

async function readNumbers(file: FileHandle, at: number, count: number): Promise<Uint32Array> {
  const numbers = new Uint32Array(count)
  if (count > 0) await file.read(numbers, 0, numbers.byteLength, Math.max(0, at))
  return numbers
}
