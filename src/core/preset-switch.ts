import { AppError } from '../contract/errors.ts'
import type { GenerationRequest } from '../contract/request.ts'
import type { PresetInUse, ReadPreset } from '../contract/sampling-preset.ts'
import { applyPreset } from './sampling-preset.ts'

/** Which preset every request is generated under, from now on: a named one, one that has no name, or none. */
export class PresetSwitch {
  readonly #named: ReadonlyMap<string, ReadPreset>
  #inUse: PresetInUse | undefined

  /** Throws `invalid-request` when `first`, the preset to begin with, is not among the named ones. */
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

  /** Throws `invalid-request`, naming what there is. */
  switchTo(name: string): void {
    const preset = this.#named.get(name)
    if (preset === undefined) {
      const there = this.#named.size === 0 ? 'there are no presets' : `there is: ${this.names.join(', ')}`
      throw new AppError('invalid-request', `no preset has the name '${name.slice(0, 100)}'; ${there}`, { param: 'preset' })
    }
    this.#inUse = { name, ...preset }
  }

  use(preset: ReadPreset): void {
    this.#inUse = { name: undefined, ...preset }
  }

  unload(): void {
    this.#inUse = undefined
  }

  apply(request: GenerationRequest): GenerationRequest {
    return this.#inUse === undefined ? request : applyPreset(request, this.#inUse.preset)
  }
}
