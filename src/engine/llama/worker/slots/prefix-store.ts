import { stat } from 'node:fs/promises'
import { messageOf } from '../../../../contract/errors.ts'
import type { CacheTier } from '../../../../contract/usage.ts'
import type { Context } from '../../binding/context.ts'
import { type SequenceState, writeSequenceFile } from '../../binding/sequence-file.ts'
import type { Span } from '../../binding/spans.ts'
import { Turns } from '../../binding/turns.ts'
import type { LoadOptions } from '../../channel/ipc.ts'
import { PrefixDisk } from './prefix-disk.ts'
import type { PrefixFile } from './prefix-files.ts'
import { isWorthSaving, pickEvicted, pickReplaced, pickRestored, type StoredPrefix } from './prefix-rules.ts'
import { type OwnedTokens, reusable, type Slot } from './slots.ts'

type Settings = NonNullable<LoadOptions['prefixCache']>
type Warn = (message: string) => void

type HeldPrefix = StoredPrefix & { readonly tier: 'memory'; readonly state: SequenceState; usedAtMs: number }

/**
 * Keeps the contents of slots for conversations that return after their slot was reused: in memory, and what goes from there, or is left
 * when the worker ends, on disk. An owner gets only the prefixes of its own requests. A failure costs a prompt its prefix, and nothing else.
 */
export class PrefixStore {
  readonly #minTokens: number
  readonly #disk: PrefixDisk | undefined
  readonly #warnOnce: Warn
  readonly #held = new Set<HeldPrefix>()
  /** What is saved at the same time must fit together. */
  readonly #turns = new Turns()
  #memoryBytes: number

  private constructor({ minTokens, memoryBytes }: Settings, disk: PrefixDisk | undefined, warn: Warn) {
    this.#minTokens = minTokens
    this.#memoryBytes = memoryBytes === 'spare' ? 0 : memoryBytes
    this.#disk = disk
    this.#warnOnce = warn
  }

  /** `identity`: what the contents depend on besides their tokens. */
  static async open(settings: Settings, identity: string, warn: Warn): Promise<PrefixStore> {
    let hasWarned = false
    const warnOnce = (message: string) => {
      if (!hasWarned) warn(message)
      hasWarned = true
    }
    const disk = settings.disk === undefined ? undefined : await PrefixDisk.open(settings.disk, identity, warnOnce)
    return new PrefixStore(settings, disk, warnOnce)
  }

  /** Changes what the prefixes in memory may use together. */
  limitMemory(bytes: number): Promise<void> {
    this.#memoryBytes = bytes
    return this.#turns.take(() => this.#makeRoom(0))
  }

  /** Saves the contents of a free or leased slot before `next` replaces them, if that is worthwhile. */
  save(slot: Slot, next: OwnedTokens): Promise<void> {
    return this.#turns.take(() => this.#save(slot, next))
  }

  /** Saves the contents of free slots and of the memory on the disk, the last used ones first: the worker ends, perhaps before it is done. */
  saveAll(slots: readonly Slot[]): Promise<void> {
    return this.#turns.take(async () => {
      this.#memoryBytes = 0
      const now = Date.now()
      for (const [age, slot] of [...slots].sort((a, b) => b.lastUsed - a.lastUsed).entries()) {
        await this.#save(slot, { owner: '', tokens: [] }, now - age)
      }
      for (const held of [...this.#held].sort((a, b) => b.usedAtMs - a.usedAtMs)) await this.#moveToDisk(held)
    })
  }

  /** Restores what the owner stored into a leased slot, if that shares more with the wanted tokens. Returns where it was. */
  async restore(slot: Slot, wanted: OwnedTokens & { readonly spans: readonly Span[] }): Promise<CacheTier | undefined> {
    const { sequence } = slot
    const { spans } = wanted
    const found = pickRestored(this.#stored(), wanted, reusable(slot, wanted))
    if (found === undefined) return undefined
    if (found.tier === 'disk') return (await this.#disk?.restore(found, { sequence, spans })) === true ? 'disk' : undefined
    try {
      await sequence.writeState(found.state, spans)
      found.usedAtMs = Date.now()
      return 'memory'
    } catch (error) {
      this.#warnOnce(`a prefix could not be restored: ${messageOf(error)}`)
      await sequence.clearHistory()
      this.#held.delete(found)
      return undefined
    }
  }

  *#stored(): Iterable<HeldPrefix | PrefixFile> {
    yield* this.#held
    yield* this.#disk?.files ?? []
  }

  async #save(slot: Slot, next: OwnedTokens, usedAtMs = Date.now()): Promise<void> {
    const { sequence, owner } = slot
    const tokens = sequence.contextTokens
    const replacement = { kept: reusable(slot, next), stored: this.#stored(), minTokens: this.#minTokens }
    if (owner === undefined || !isWorthSaving({ owner, tokens }, replacement)) return
    try {
      const sizeBytes = this.#memoryBytes === 0 ? Number.POSITIVE_INFINITY : await sequence.stateBytes()
      if (sizeBytes > this.#memoryBytes) {
        await this.#disk?.add({ owner, usedAtMs, write: (path) => sequence.saveStateToFile(path) })
        return
      }
      // What is about to be restored stays in memory, if there is room for both.
      const restored = pickRestored(this.#held, next, 0)
      if (restored !== undefined) restored.usedAtMs = Date.now()
      await this.#makeRoom(sizeBytes)
      const state = await sequence.readState()
      const lengths = state.checkpoints?.map(({ last }) => last + 1)
      const held = { tier: 'memory' as const, owner, tokens: state.tokens, state, sizeBytes, usedAtMs }
      const added = { ...held, ...(lengths !== undefined && { checkpoints: lengths }) }
      this.#held.add(added)
      for (const replaced of pickReplaced(this.#held, added)) this.#held.delete(replaced)
    } catch (error) {
      this.#warnOnce(`a prefix could not be saved: ${messageOf(error)}`)
    }
  }

  async #makeRoom(bytes: number): Promise<void> {
    for (const held of pickEvicted(this.#held, this.#memoryBytes - bytes)) await this.#moveToDisk(held)
  }

  async #moveToDisk(held: HeldPrefix): Promise<void> {
    const { owner, usedAtMs, state } = held
    await this.#disk?.add({ owner, usedAtMs, write: (path) => writeSequenceFile(path, state) })
    this.#held.delete(held)
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
