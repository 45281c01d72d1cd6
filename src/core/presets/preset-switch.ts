import { AppError } from '../../contract/errors.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import type { PresetChoice, PresetInUse, ReadPreset } from '../../contract/server/sampling-preset.ts'
import { applyPreset } from './sampling-preset.ts'

/** Holds the sampling preset that applies to all requests: a named one, an unnamed one, or none. */
export class PresetSwitch {
  #named: ReadonlyMap<string, ReadPreset>
  #inUse: PresetInUse | undefined

  /** Throws `invalid-request` when `first`, the initial preset, is not one of `named`. */
  constructor(named: ReadonlyMap<string, ReadPreset>, first?: string) {
    this.#named = named
    if (first !== undefined) this.switchTo(first)
  }

  get inUse(): PresetInUse | undefined {
    return this.#inUse
  }

  get names(): readonly string[] {
    return [...this.#named.keys()]
  }

  /** Throws `invalid-request` for an unknown name, listing the known ones. */
  switchTo(name: string): void {
    const preset = this.#named.get(name)
    if (preset === undefined) {
      const known = this.#named.size === 0 ? 'there are no presets' : `choose one of: ${this.names.join(', ')}`
      throw new AppError('invalid-request', `there is no preset '${name.slice(0, 100)}'; ${known}`, { param: 'preset' })
    }
    this.#inUse = { name, ...preset }
  }

  /** Throws `invalid-request` for an unknown name. */
  choose(choice: PresetChoice): void {
    switch (choice.type) {
      case 'named':
        this.switchTo(choice.name)
        break
      case 'own':
        this.use(choice.preset)
        break
      case 'none':
        this.unload()
        break
    }
  }

  use(preset: ReadPreset): void {
    this.#inUse = { name: undefined, ...preset }
  }

  /**
   * Takes over the presets of another switch. The preset in use stays in use, as now defined; if it is gone, or with `isOtherFirst`, the
   * other switch's replaces it.
   */
  adopt(other: PresetSwitch, { isOtherFirst }: { readonly isOtherFirst: boolean }): void {
    const name = this.#inUse?.name
    this.#named = other.#named
    const isGone = name !== undefined && !this.#named.has(name)
    if (isOtherFirst || isGone) this.#inUse = other.#inUse
    else if (name !== undefined) this.switchTo(name)
  }

  unload(): void {
    this.#inUse = undefined
  }

  apply(request: GenerationRequest): GenerationRequest {
    return this.#inUse === undefined ? request : applyPreset(request, this.#inUse.preset)
  }
}
