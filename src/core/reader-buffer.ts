import { type Emit, inTurn } from '../base/emit.ts'
import type { GenerationEvent } from '../contract/event.ts'

/**
 * Passes events of a run to its reader, which may be slow: it may store a reply at its end, or read nothing for minutes. A run that is over
 * or cancelled does not wait for it: its last event, and all events after a cancel, are kept until `finish`. Later events are dropped.
 */
export class ReaderBuffer {
  readonly #emit: Emit<GenerationEvent>
  readonly #signal: AbortSignal
  readonly #kept: GenerationEvent[] = []
  /** The reader's pending work when the run was cancelled. */
  #busy: Promise<void> | undefined
  #isOver = false

  constructor(emit: Emit<GenerationEvent>, signal: AbortSignal) {
    this.#emit = emit
    this.#signal = signal
  }

  readonly take: Emit<GenerationEvent> = (event) => {
    if (this.#isOver) return undefined
    this.#isOver = event.type === 'usage'
    if (this.#isOver || this.#signal.aborted) {
      this.#kept.push(event)
      return undefined
    }
    const reader = this.#emit(event)
    return reader === undefined ? undefined : this.#untilCancelled(reader)
  }

  /** Emits the kept events. Call it once, when the slot is free. Undefined: the reader has taken everything. */
  finish(): Promise<void> | undefined {
    return this.#busy?.then(() => inTurn(this.#kept, this.#emit)) ?? inTurn(this.#kept, this.#emit)
  }

  async #untilCancelled(reader: Promise<void>): Promise<void> {
    const signal = this.#signal
    let leave: () => void = () => undefined
    const cancelled = new Promise<void>((resolve) => {
      leave = () => {
        this.#busy = reader
        resolve()
      }
      signal.addEventListener('abort', leave, { once: true })
    })
    try {
      await Promise.race([reader, cancelled])
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }
}
