/** A smaller piece costs more memory for itself than for its bytes. */
const smallBytes = 1024
const slabBytes = 16 * 1024

/** Collects data that arrives in pieces. Small ones are copied together, since a sender may send single bytes. */
export class JoinedPieces {
  readonly #onPiece: (piece: Buffer) => void
  readonly #pieces: Buffer[] = []
  /** A small first piece, not copied: most bodies are one piece. */
  #first: Buffer | undefined
  #slab: Buffer | undefined
  #slabUsed = 0

  /** `onPiece` receives everything in pieces that are not small, except the last one and those before large ones. */
  constructor(onPiece: (piece: Buffer) => void = () => undefined) {
    this.#onPiece = onPiece
  }

  push(piece: Buffer): void {
    if (piece.length >= smallBytes) {
      this.#flush()
      this.#add(piece)
    } else if (this.#first === undefined && this.#slabUsed === 0) {
      this.#first = piece
    } else {
      const first = this.#first
      this.#first = undefined
      if (first !== undefined) this.#copy(first)
      this.#copy(piece)
    }
  }

  /** Returns the whole. No piece may follow. */
  end(): Buffer {
    this.#flush()
    const [only] = this.#pieces
    return only !== undefined && this.#pieces.length === 1 ? only : Buffer.concat(this.#pieces)
  }

  #copy(piece: Buffer): void {
    if (this.#slabUsed + piece.length > slabBytes) {
      this.#add((this.#slab as Buffer).subarray(0, this.#slabUsed))
      this.#slab = undefined
      this.#slabUsed = 0
    }
    this.#slab ??= Buffer.allocUnsafeSlow(slabBytes)
    this.#slab.set(piece, this.#slabUsed)
    this.#slabUsed += piece.length
  }

  #flush(): void {
    if (this.#first !== undefined) this.#add(this.#first)
    // A copy, so that a few bytes do not keep the whole slab.
    else if (this.#slabUsed > 0) this.#add(Buffer.from((this.#slab as Buffer).subarray(0, this.#slabUsed)))
    this.#first = undefined
    this.#slabUsed = 0
  }

  #add(piece: Buffer): void {
    this.#pieces.push(piece)
    this.#onPiece(piece)
  }
}
