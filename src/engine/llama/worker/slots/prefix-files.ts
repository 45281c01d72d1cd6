import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { messageOf } from '../../../../contract/errors.ts'
import type { Checkpoint } from '../../binding/checkpoints.ts'
import type { SequenceState } from '../../binding/sequence.ts'
import { checksum, readChecked, writeFile } from './checked-file.ts'
import type { StoredPiece, StoredPrefix } from './prefix-rules.ts'
import { type CutPoint, type CutState, joinState } from './state-pieces.ts'

/** A file, which several prefixes may have in common. Names begin with the owner, and end with the checksum of the contents. */
export type PieceFile = StoredPiece & { readonly name: string }
export type PrefixFile = StoredPrefix<PieceFile> & {
  readonly tier: 'disk'
  readonly name: string
  readonly tokens: Int32Array
  usedAtMs: number
}

const endings = { piece: '.piece', prefix: '.prefix' } as const

/** The file of a prefix: this number, the bytes of its head, the number of its tokens; the head in JSON, the tokens, what is in no piece. */
const magic = 0x32677264
const introBytes = 12
const count = z.int().nonnegative()
const headSchema = z.object({
  rows: z.array(z.object({ at: count, rowBytes: count })),
  pieces: z.array(z.string()),
  points: z.array(z.object({ last: count, piece: z.string() })).optional(),
})
type Head = z.infer<typeof headSchema>

/** The prefixes of a folder. Deletes files that do not belong here or are damaged: leftovers of a killed process. */
export async function listPrefixes(folder: string): Promise<PrefixFile[]> {
  const names = await readdir(folder)
  const pieces = new Map<string, PieceFile>()
  for (const name of names.filter((each) => each.endsWith(endings.piece))) {
    pieces.set(name, { name, sizeBytes: (await stat(join(folder, name))).size })
  }
  const found: PrefixFile[] = []
  for (const name of names.filter((each) => each.endsWith(endings.prefix))) {
    const prefix = await describe(folder, { name, pieces }).catch(() => undefined)
    if (prefix !== undefined) found.push(prefix)
  }
  const used = new Set(found.flatMap((prefix) => [prefix.name, ...prefix.pieces.map(({ name }) => name)]))
  for (const name of names) if (!used.has(name)) await rm(join(folder, name), { recursive: true, force: true })
  return found
}

export type NewPrefix = Pick<PrefixFile, 'owner' | 'usedAtMs'> & { readonly cut: CutState }

/** Writes a prefix, and those of its pieces that are not `known` by their names. */
export async function addPrefix(
  folder: string,
  { owner, usedAtMs, cut, known }: NewPrefix & { readonly known: ReadonlyMap<string, PieceFile> },
): Promise<PrefixFile> {
  const { tokens, rows, rest } = cut
  const added: PieceFile[] = []
  const keep = async ({ key, bytes }: { readonly key: string; readonly bytes: Uint8Array }): Promise<PieceFile> => {
    const name = `${owner}-${key}-${await checksum([bytes])}${endings.piece}`
    const found = known.get(name)
    if (found !== undefined) return found
    await writeFile(join(folder, name), [bytes])
    const piece = { name, sizeBytes: bytes.length }
    added.push(piece)
    return piece
  }
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const pieces: PieceFile[] = []
    for (const piece of cut.pieces) pieces.push(await keep(piece))
    const points: CutPoint<PieceFile>[] = []
    for (const { last, piece } of cut.points ?? []) points.push({ last, piece: await keep(piece) })
    const head: Head = {
      rows: [...rows],
      pieces: pieces.map(({ name }) => name),
      ...(cut.points !== undefined && { points: points.map(({ last, piece }) => ({ last, piece: piece.name })) }),
    }
    const encoded = Buffer.from(JSON.stringify(head))
    const parts = [bytesOf(Uint32Array.of(magic, encoded.length, tokens.length)), encoded, bytesOf(tokens), rest]
    const name = `${owner}-${randomUUID().slice(0, 8)}-${await checksum(parts)}${endings.prefix}`
    await writeFile(join(folder, name), parts)
    await utimes(join(folder, name), usedAtMs / 1000, usedAtMs / 1000)
    const sizeBytes = parts.reduce((sum, { length }) => sum + length, 0)
    return prefixOf(name, { head, tokens, sizeBytes, usedAtMs, pieces: [...pieces, ...points.map(({ piece }) => piece)] })
  } catch (error) {
    for (const { name } of added) await rm(join(folder, name), { force: true }).catch(() => undefined)
    throw error
  }
}

/** A file that is not as it was written. */
export class DamagedFile extends Error {
  readonly file: string

  constructor(file: string, cause: unknown) {
    super(messageOf(cause), { cause })
    this.file = file
  }
}

/** Rejects with the first of its files that is not as it was written. Marks it as used. */
export async function readPrefix(folder: string, prefix: PrefixFile): Promise<SequenceState> {
  const read = (name: string) =>
    readChecked(join(folder, name), checksumIn(name)).catch((error: unknown) => {
      throw new DamagedFile(name, error)
    })
  const file = await read(prefix.name)
  const { head, restAt } = decode(file)
  const { state, put } = joinState({ tokens: prefix.tokens, rows: head.rows, rest: file.subarray(restAt) })
  for (const [index, name] of head.pieces.entries()) put(index, await read(name))
  const checkpoints: Checkpoint[] = []
  for (const { last, piece } of head.points ?? []) checkpoints.push({ last, state: await read(piece) })
  const now = new Date()
  prefix.usedAtMs = now.getTime()
  await utimes(join(folder, prefix.name), now, now)
  return { tokens: prefix.tokens, state, checkpoints: head.points && checkpoints }
}

type Found = { readonly name: string; readonly pieces: ReadonlyMap<string, PieceFile> }

async function describe(folder: string, { name, pieces }: Found): Promise<PrefixFile> {
  const { size, mtimeMs } = await stat(join(folder, name))
  const file = await open(join(folder, name))
  try {
    const bytes = new Uint8Array(size)
    const { bytesRead } = await file.read(bytes, 0, introBytes)
    const { restAt } = lengthsIn(bytes)
    if (bytesRead < introBytes || restAt > size) throw new Error('it is not the file of a prefix')
    await file.read(bytes, 0, restAt, 0)
    const { head, tokens } = decode(bytes)
    const own = [...head.pieces, ...(head.points ?? []).map(({ piece }) => piece)].map((each) => pieces.get(each))
    const found = own.filter((piece) => piece !== undefined)
    if (found.length < own.length) throw new Error('a piece of it is missing')
    return prefixOf(name, { head, tokens, pieces: found, sizeBytes: size, usedAtMs: mtimeMs })
  } finally {
    await file.close()
  }
}

type Described = Pick<PrefixFile, 'tokens' | 'pieces' | 'sizeBytes' | 'usedAtMs'> & { readonly head: Head }

function prefixOf(name: string, { head, ...described }: Described): PrefixFile {
  const prefix = { tier: 'disk' as const, name, owner: name.split('-')[0] ?? '', ...described }
  return head.points === undefined ? prefix : { ...prefix, checkpoints: head.points.map(({ last }) => last + 1) }
}

function decode(file: Uint8Array) {
  const { headEnd, restAt } = lengthsIn(file)
  const head = headSchema.parse(JSON.parse(Buffer.from(file.subarray(introBytes, headEnd)).toString()))
  // A copy: an array of numbers begins at a multiple of their size.
  return { head, tokens: new Int32Array(file.slice(headEnd, restAt).buffer), restAt }
}

function lengthsIn(file: Uint8Array) {
  const [found, headBytes = 0, tokens = 0] = new Uint32Array(file.slice(0, introBytes).buffer)
  if (found !== magic) throw new Error('it is not the file of a prefix')
  const headEnd = introBytes + headBytes
  return { headEnd, restAt: headEnd + tokens * Int32Array.BYTES_PER_ELEMENT }
}

function checksumIn(name: string): string {
  return /-([0-9a-f]{8})\.[a-z]+$/.exec(name)?.[1] ?? ''
}

function bytesOf(numbers: Uint32Array | Int32Array): Uint8Array {
  return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength)
}
