import { mkdir, readdir, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../../../contract/errors.ts'
import type { Sequence } from '../../binding/sequence.ts'
import type { Span } from '../../binding/spans.ts'
import type { LoadOptions } from '../../channel/ipc.ts'
import { shortHash } from '../../channel/short-hash.ts'
import {
  addPrefix,
  DamagedFile,
  listPrefixes,
  type NewPrefix,
  type PieceFile,
  type PrefixFile,
  readPrefix,
} from './prefix-files.ts'
import { bytesOf, pickEvicted, pickReplaced } from './prefix-rules.ts'

type Settings = NonNullable<NonNullable<LoadOptions['prefixCache']>['disk']>

/** Without a limit, the files of a model may use this part of what is free on their disk, and at most so much. */
const usualShare = 0.1
const usualBytes = 8e9

type Restoring = { readonly sequence: Sequence; readonly spans: readonly Span[] }

/** The files of prefixes. A failure costs a prompt its prefix, and nothing else. */
export class PrefixDisk {
  readonly #folder: string
  readonly #maxBytes: number
  readonly #warn: (message: string) => void
  readonly #files = new Set<PrefixFile>()

  private constructor(folder: string, maxBytes: number, warn: (message: string) => void) {
    this.#folder = folder
    this.#maxBytes = maxBytes
    this.#warn = warn
  }

  /** `identity`: what the contents depend on besides their tokens. Those of other identities are deleted. */
  static async open(settings: Settings, identity: string, warn: (message: string) => void): Promise<PrefixDisk | undefined> {
    const name = shortHash(identity)
    const folder = join(settings.folder, name)
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      for (const other of await readdir(settings.folder)) {
        if (other !== name) await rm(join(settings.folder, other), { recursive: true, force: true })
      }
      const files = await listPrefixes(folder)
      const disk = new PrefixDisk(folder, settings.maxBytes ?? (await usualLimit(folder, files)), warn)
      for (const file of files) disk.#files.add(file)
      // The limit may have been lowered.
      await disk.#evict()
      return disk
    } catch (error) {
      warn(`prefixes cannot be kept on the disk: ${messageOf(error)}`)
      return undefined
    }
  }

  get files(): Iterable<PrefixFile> {
    return this.#files
  }

  async add(prefix: NewPrefix): Promise<void> {
    try {
      const added = await addPrefix(this.#folder, { ...prefix, known: this.#pieces() })
      this.#files.add(added)
      for (const file of pickReplaced(this.#files, added)) await this.#delete(file)
      await this.#evict()
    } catch (error) {
      this.#warn(`a prefix could not be saved: ${messageOf(error)}`)
    }
  }

  /** False: the file was damaged, and is deleted. */
  async restore(file: PrefixFile, { sequence, spans }: Restoring): Promise<boolean> {
    try {
      await sequence.writeState(await readPrefix(this.#folder, file), spans)
      return true
    } catch (error) {
      this.#warn(`a prefix could not be restored: ${messageOf(error)}`)
      await sequence.clearHistory()
      const isDamaged = ({ name }: { readonly name: string }) => error instanceof DamagedFile && error.file === name
      for (const other of [...this.#files]) {
        if (other === file || other.pieces.some(isDamaged)) await this.#delete(other)
      }
      return false
    }
  }

  async #evict(): Promise<void> {
    for (const file of pickEvicted(this.#files, this.#maxBytes)) await this.#delete(file)
  }

  /** Without the pieces that others need. */
  async #delete(file: PrefixFile): Promise<void> {
    this.#files.delete(file)
    const needed = this.#pieces()
    const names = [file, ...file.pieces].map(({ name }) => name).filter((name) => !needed.has(name))
    try {
      for (const name of names) await rm(join(this.#folder, name), { force: true })
    } catch (error) {
      this.#warn(`a prefix could not be deleted: ${messageOf(error)}`)
    }
  }

  #pieces(): ReadonlyMap<string, PieceFile> {
    return new Map([...this.#files].flatMap(({ pieces }) => pieces.map((piece) => [piece.name, piece])))
  }
}

async function usualLimit(folder: string, files: readonly PrefixFile[]): Promise<number> {
  const { bavail, bsize } = await statfs(folder)
  return Math.min(usualBytes, usualShare * (bavail * bsize + bytesOf(files)))
}
