import { createHash } from 'node:crypto'
import type { Checkpoint } from '../../binding/checkpoints.ts'
import type { SequenceState } from '../../binding/sequence.ts'
import { findRows, type Rows } from '../../binding/state-rows.ts'

/** The tokens of a piece. Conversations with the same beginning have the pieces in common that it fills. */
export const pieceTokens = 256

/** Bytes that other states may have, too. `key`: the tokens that they depend on. */
export type Piece = { readonly key: string; readonly bytes: Uint8Array }

/** Where a sequence can return to: the number of its last token there. */
export type CutPoint<P> = { readonly last: number; readonly piece: P }

/** The part of a state that is in no piece. */
export type Remainder = { readonly tokens: Int32Array; readonly rows: readonly Rows[]; readonly rest: Uint8Array }

/** A state whose beginning is in pieces of equal numbers of tokens. `points` absent: it can return to anywhere. */
export type CutState<P = Piece> = Remainder & {
  readonly pieces: Iterable<P>
  readonly points: Iterable<CutPoint<P>> | undefined
}

/** Pieces are copied out of the state as they are read. */
export function cutState({ tokens, state, checkpoints }: SequenceState): CutState {
  const rows = findRows(state, tokens.length)
  const count = pieceCount({ tokens, rows })
  const rest = new Uint8Array(state.length - count * pieceBytes(rows))
  let filled = 0
  for (const [from, to] of restRanges({ tokens, rows }, state.length)) {
    rest.set(state.subarray(from, to), filled)
    filled += to - from
  }
  return { tokens, rows, rest, pieces: piecesOf({ tokens, rows }, state), points: checkpoints && pointsOf(tokens, checkpoints) }
}

/** Puts a state together, piece by piece. */
export function joinState({ tokens, rows, rest }: Remainder) {
  const count = pieceCount({ tokens, rows })
  const state = new Uint8Array(rest.length + count * pieceBytes(rows))
  let read = 0
  for (const [from, to] of restRanges({ tokens, rows }, state.length)) {
    state.set(rest.subarray(read, read + to - from), from)
    read += to - from
  }
  const put = (piece: number, bytes: Uint8Array) => {
    if (bytes.length !== pieceBytes(rows)) throw new Error('a piece of it has another length')
    let at = 0
    for (const { at: first, rowBytes } of rows) {
      const length = pieceTokens * rowBytes
      state.set(bytes.subarray(at, at + length), first + piece * length)
      at += length
    }
  }
  return { state, put }
}

function* piecesOf({ tokens, rows }: Omit<Remainder, 'rest'>, state: Uint8Array): Iterable<Piece> {
  const hash = createHash('sha256')
  for (let piece = 0; piece < pieceCount({ tokens, rows }); piece++) {
    hash.update(tokens.subarray(piece * pieceTokens, (piece + 1) * pieceTokens))
    const bytes = new Uint8Array(pieceBytes(rows))
    let filled = 0
    for (const { at, rowBytes } of rows) {
      const length = pieceTokens * rowBytes
      bytes.set(state.subarray(at + piece * length, at + (piece + 1) * length), filled)
      filled += length
    }
    yield { key: shortened(hash.copy().digest('hex')), bytes }
  }
}

function* pointsOf(tokens: Int32Array, checkpoints: readonly Checkpoint[]): Iterable<CutPoint<Piece>> {
  for (const { last, state } of checkpoints) {
    const key = createHash('sha256')
      .update('point')
      .update(tokens.subarray(0, last + 1))
      .digest('hex')
    yield { last, piece: { key: shortened(key), bytes: state } }
  }
}

function shortened(hash: string): string {
  return hash.slice(0, 32)
}

function pieceCount({ tokens, rows }: Omit<Remainder, 'rest'>): number {
  return rows.length === 0 ? 0 : Math.floor(tokens.length / pieceTokens)
}

function pieceBytes(rows: readonly Rows[]): number {
  return rows.reduce((sum, { rowBytes }) => sum + pieceTokens * rowBytes, 0)
}

/** What no piece has: before, between and after the rows, and the rows of the last tokens. */
function* restRanges({ tokens, rows }: Omit<Remainder, 'rest'>, length: number): Iterable<readonly [number, number]> {
  const inPieces = pieceTokens * pieceCount({ tokens, rows })
  let from = 0
  for (const { at, rowBytes } of rows) {
    yield [from, at]
    from = at + inPieces * rowBytes
  }
  yield [from, length]
}
