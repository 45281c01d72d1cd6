import { stat } from 'node:fs/promises'
import { messageOf } from '../../../../contract/errors.ts'
import type { CacheTier } from '../../../../contract/usage.ts'
import type { Context } from '../../binding/context.ts'
import type { SequenceState } from '../../binding/sequence.ts'
import type { Span } from '../../binding/spans.ts'
import { Turns } from '../../binding/turns.ts'
import type { LoadOptions } from '../../channel/ipc.ts'
import { PrefixDisk } from './prefix-disk.ts'
import type { PrefixFile } from './prefix-files.ts'
import { isWorthSaving, pickEvicted, pickReplaced, pickRestored, type StoredPrefix } from './prefix-rules.ts'
import { type OwnedTokens, reusable, type Slot } from './slots.ts'
import { type CutState, cutState, joinState, type Piece } from './state-pieces.ts'

type Settings = NonNullable<LoadOptions['prefixCache']>
type Warn = (message: string) => void

type HeldPiece = Piece & { readonly sizeBytes: number }
type HeldPrefix = StoredPrefix<HeldPiece> & {
  readonly tier: 'memory'
  readonly cut: CutState<HeldPiece>
  usedAtMs: number
}

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
    return this.#turns.take(() => this.#makeRoom())
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
      await sequence.writeState(stateOf(found.cut), spans)
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
    if (owner === undefined || sequence.isPending || !isWorthSaving({ owner, tokens }, replacement)) return
    try {
      const sizeBytes = await sequence.stateBytes()
      const fits = sizeBytes <= this.#memoryBytes
      if (!fits && this.#disk === undefined) return
      const cut = cutState(await sequence.readState())
      if (!fits) {
        await this.#disk?.add({ owner, usedAtMs, cut })
        return
      }
      // What is about to be restored stays in memory, if there is room for both.
      const restored = pickRestored(this.#held, next, 0)
      if (restored !== undefined) restored.usedAtMs = Date.now()
      const added = this.#hold(cut, { owner, usedAtMs })
      for (const replaced of pickReplaced(this.#held, added)) this.#held.delete(replaced)
      await this.#makeRoom()
    } catch (error) {
      this.#warnOnce(`a prefix could not be saved: ${messageOf(error)}`)
    }
  }

  /** Keeps a state, with the pieces that the owner has already. */
  #hold(cut: CutState, { owner, usedAtMs }: Pick<HeldPrefix, 'owner' | 'usedAtMs'>): HeldPrefix {
    const own = [...this.#held].filter((held) => held.owner === owner)
    const known = new Map(own.flatMap((held) => held.pieces.map((piece) => [piece.key, piece])))
    const hold = ({ key, bytes }: Piece): HeldPiece => {
      const found = known.get(key)
      // The same tokens, computed in other passes, may differ in their last bits.
      return found !== undefined && Buffer.compare(found.bytes, bytes) === 0 ? found : { key, bytes, sizeBytes: bytes.length }
    }
    const pieces = Array.from(cut.pieces, hold)
    const points = cut.points && Array.from(cut.points, ({ last, piece }) => ({ last, piece: hold(piece) }))
    const added: HeldPrefix = {
      tier: 'memory',
      owner,
      usedAtMs,
      tokens: cut.tokens,
      cut: { ...cut, pieces, points },
      pieces: [...pieces, ...(points ?? []).map(({ piece }) => piece)],
      sizeBytes: cut.rest.length,
      ...(points !== undefined && { checkpoints: points.map(({ last }) => last + 1) }),
    }
    this.#held.add(added)
    return added
  }

  async #makeRoom(): Promise<void> {
    for (const held of pickEvicted(this.#held, this.#memoryBytes)) await this.#moveToDisk(held)
  }

  async #moveToDisk(held: HeldPrefix): Promise<void> {
    const { owner, usedAtMs, cut } = held
    await this.#disk?.add({ owner, usedAtMs, cut })
    this.#held.delete(held)
  }
}

function stateOf({ pieces, points, ...remainder }: CutState): SequenceState {
  const { state, put } = joinState(remainder)
  let index = 0
  for (const { bytes } of pieces) put(index++, bytes)
  const checkpoints = points && Array.from(points, ({ last, piece }) => ({ last, state: piece.bytes }))
  return { tokens: remainder.tokens, state, checkpoints }
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
