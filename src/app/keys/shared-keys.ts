import { rename } from 'node:fs/promises'
import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import type { SharedDocuments } from '../../contract/server/shared.ts'
import { ApiKeyFile } from './api-key-file.ts'
import { MadeKeys, type StoredKey, storedKeySchema } from './made-keys.ts'

/** Receives the reports of a take-over, for a log or a terminal. */
export type Notes = {
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
}

const documentName = 'keys'
const schema = z.array(storedKeySchema)

/** The made keys of all servers with one store. */
export class SharedKeys extends MadeKeys {
  readonly #documents: SharedDocuments
  #keys: readonly StoredKey[] = []

  private constructor(documents: SharedDocuments) {
    super()
    this.#documents = documents
  }

  /** Rejects with `store-unavailable`. */
  static async open(documents: SharedDocuments): Promise<SharedKeys> {
    const keys = new SharedKeys(documents)
    await documents.watch(documentName, (json) => {
      keys.#keys = schema.parse(json)
    })
    return keys
  }

  override list(): readonly StoredKey[] {
    return this.#keys
  }

  override refresh(): Promise<void> {
    return this.#documents.refresh(documentName)
  }

  protected override change(edit: (keys: readonly StoredKey[]) => readonly StoredKey[]): Promise<void> {
    return this.#documents.change(documentName, (json) => (json === undefined ? edit([]) : edit(schema.parse(json))))
  }

  /**
   * Takes the keys of a key file, once: the file then has another name, so that a key that is deleted here does not come back. A failure
   * leaves the file as it is, and its keys without effect.
   */
  async takeOver(path: string, notes: Notes): Promise<void> {
    const taken = `${path}.taken-over`
    try {
      const keys = new ApiKeyFile(path).list()
      if (keys.length === 0) return
      await rename(path, taken)
      await this.change((known) => [...known, ...keys.filter(({ hash }) => known.every((key) => key.hash !== hash))])
      notes.info({ keys: keys.length }, `the store has the keys of '${path}' now; the file is '${taken}'`)
    } catch (error) {
      // Another process of the same data folder has renamed it.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
      await rename(taken, path).catch(() => undefined)
      const { message } = AppError.from(error)
      notes.warn({ reason: message }, `the keys of '${path}' are not accepted: they cannot be taken over into the store`)
    }
  }
}
