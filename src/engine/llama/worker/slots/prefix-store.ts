import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../../../contract/errors.ts'
import type { Context } from '../../binding/context.ts'
import type { Span } from '../../binding/spans.ts'
import type { LoadOptions } from '../../channel/ipc.ts'
import { shortHash } from '../../channel/short-hash.ts'
import { addPrefix, checkPrefix, listPrefixes, type PrefixFile } from './prefix-files.ts'
import { isWorthSaving, type OwnedTokens, pickEvicted, pickReplaced, pickRestored } from './prefix-rules.ts'
import { reusable, type Slot } from './slots.ts'

type Settings = NonNullable<LoadOptions['prefixCache']>
type Warn = (message: string) => void

/**
 * Keeps the contents of slots on disk, for conversations that return after their slot was reused or the worker has ended. An owner gets
 * only the prefixes of its own requests. A failure costs a prompt its prefix, and nothing else.
 */
export class PrefixStore {
  readonly #folder: string
  readonly #settings: Settings
  readonly #warn: Warn
  readonly #files = new Set<PrefixFile>()
  #hasWarned = false

  private constructor(folder: string, settings: Settings, warn: Warn) {
    this.#folder = folder
    this.#settings = settings
    this.#warn = warn
  }

  /** `identity`: what the contents depend on besides their tokens. Those of other identities are deleted. */
  static async open(settings: Settings, identity: string, warn: Warn): Promise<PrefixStore> {
    const name = shortHash(identity)
    const folder = join(settings.folder, name)
    const store = new PrefixStore(folder, settings, warn)
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      for (const other of await readdir(settings.folder)) {
        if (other !== name) await rm(join(settings.folder, other), { recursive: true, force: true })
      }
      for (const file of await listPrefixes(folder)) store.#files.add(file)
      // The limit may have been lowered.
      await store.#evict()
    } catch (error) {
      warn(`the prefix cache cannot be read: ${messageOf(error)}`)
    }
    return store
  }

  /** Saves the contents of a free or leased slot before `next` replaces them, if that is worthwhile. */
  async save({ sequence, owner }: Slot, next: ArrayLike<number>): Promise<void> {
    const { minTokens } = this.#settings
    const tokens = sequence.contextTokens
    const kept = reusable({ sequence }, next)
    if (owner === undefined || !isWorthSaving({ owner, tokens }, { kept, stored: this.#files, minTokens })) return
    try {
      const added = await addPrefix(this.#folder, owner, (path) => sequence.saveStateToFile(path))
      this.#files.add(added)
      for (const file of pickReplaced(this.#files, added)) await this.#delete(file)
      await this.#evict()
    } catch (error) {
      this.#warnOnce(`a prefix could not be saved: ${messageOf(error)}`)
    }
  }

  /** Restores what the owner stored into a leased slot, if that shares more with the wanted tokens. */
  async restore({ sequence }: Slot, wanted: OwnedTokens & { readonly spans: readonly Span[] }): Promise<void> {
    const file = pickRestored(this.#files, wanted, reusable({ sequence }, wanted.tokens))
    if (file === undefined) return
    try {
      await checkPrefix(file)
      await sequence.loadStateFromFile(file.path, wanted.spans)
    } catch (error) {
      this.#warnOnce(`a prefix could not be restored: ${messageOf(error)}`)
      await sequence.clearHistory()
      await this.#delete(file)
    }
  }

  async #evict(): Promise<void> {
    for (const file of pickEvicted(this.#files, this.#settings.maxBytes)) await this.#delete(file)
  }

  async #delete(file: PrefixFile): Promise<void> {
    this.#files.delete(file)
    await rm(file.path, { force: true }).catch((error) => this.#warnOnce(`a prefix could not be deleted: ${messageOf(error)}`))
  }

  #warnOnce(message: string): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    this.#warn(message)
  }
}

/** The inputs of a slot's contents besides its tokens: the model file, its adapters and projector, llama.cpp, and the settings of the context. */
export async function identityOf(options: LoadOptions, context: Context): Promise<string> {
  const { modelPath, mmprojPath, adapters = [], cacheTypeK = 'f16', cacheTypeV = 'f16', flashAttention, rope } = options
  const { llamaCppRelease, gpu } = context.model.llama
  return JSON.stringify([
    await identifyFile(modelPath),
    await Promise.all(adapters.map(async ({ path, scale }) => [...(await identifyFile(path)), scale])),
    mmprojPath === undefined ? [] : await identifyFile(mmprojPath),
    [llamaCppRelease, gpu],
    [context.contextSize, cacheTypeK, cacheTypeV, flashAttention, rope],
  ])
}

async function identifyFile(path: string): Promise<readonly (string | number)[]> {
  const { size, mtimeMs } = await stat(path)
  return [path, size, mtimeMs]
}
