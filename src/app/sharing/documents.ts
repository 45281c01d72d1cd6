import { z } from 'zod'
import type { Bus, DocumentRow, DocumentRows, SharedDocuments, Topic } from '../../contract/server/shared.ts'

const changed: Topic<{ readonly name: string }> = {
  name: 'documents',
  message: z.object({ name: z.string() }),
}

type Watched = {
  row: DocumentRow
  readonly listeners: ((json: unknown) => void)[]
  /** The read that runs, and the one that begins after it for all who ask meanwhile. */
  running: Promise<void>
  next: Promise<void> | undefined
}

/** Documents in rows, whose changes are published. */
export class Documents implements SharedDocuments {
  readonly #rows: DocumentRows
  readonly #bus: Bus
  readonly #watched = new Map<string, Watched>()
  #listening: Promise<void> | undefined

  constructor(rows: DocumentRows, bus: Bus) {
    this.#rows = rows
    this.#bus = bus
  }

  async watch(name: string, listener: (json: unknown) => void): Promise<void> {
    const known = this.#watched.get(name)
    if (known !== undefined) {
      known.listeners.push(listener)
      if (known.row.version > 0) listener(known.row.json)
      return
    }
    const row = { version: 0, json: undefined }
    this.#watched.set(name, { row, listeners: [listener], running: Promise.resolve(), next: undefined })
    this.#listening ??= this.#listen()
    await this.#listening
    await this.refresh(name)
  }

  refresh(name: string): Promise<void> {
    const watched = this.#watched.get(name)
    if (watched === undefined) return Promise.resolve()
    watched.next ??= watched.running
      .catch(() => undefined)
      .then(() => {
        watched.next = undefined
        watched.running = this.#read(name, watched.row.version)
        return watched.running
      })
    return watched.next
  }

  async change(name: string, edit: (json: unknown) => unknown): Promise<void> {
    for (;;) {
      const { version, json } = (await this.#rows.read(name, 0)) ?? { version: 0, json: undefined }
      const edited = edit(json)
      if (edited === json) return
      const row = { version: version + 1, json: edited }
      if (!(await this.#rows.write(name, row))) continue
      this.#take(name, row)
      await this.#bus.publish(changed, { name })
      return
    }
  }

  #listen(): Promise<void> {
    // A failed read is made again after the next message, or the next gap.
    const readAgain = (name: string) => this.refresh(name).catch(() => undefined)
    return this.#bus.subscribe(
      changed,
      ({ name }) => readAgain(name),
      () => {
        for (const name of this.#watched.keys()) void readAgain(name)
      },
    )
  }

  async #read(name: string, version: number): Promise<void> {
    const row = await this.#rows.read(name, version)
    if (row !== undefined) this.#take(name, row)
  }

  #take(name: string, row: DocumentRow): void {
    const watched = this.#watched.get(name)
    if (watched === undefined || watched.row.version >= row.version) return
    watched.row = row
    for (const listener of watched.listeners) listener(row.json)
  }
}
