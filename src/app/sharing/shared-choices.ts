import type { Logger } from 'pino'
import type { Engine } from '../../contract/engine.ts'
import { messageOf } from '../../contract/errors.ts'
import type { PresetChoice } from '../../contract/server/sampling-preset.ts'
import type { SharedDocuments } from '../../contract/server/shared.ts'
import type { TemplateChoice } from '../../contract/template.ts'
import type { PresetSwitch } from '../../core/presets/preset-switch.ts'
import type { OperatorChoices } from '../../http/run/deps.ts'
import type { DrainedServer, Drains } from './drains.ts'

type Parts = {
  /** The documents of all processes with the same store, and those of this server. */
  readonly documents: SharedDocuments
  /** The documents of the processes of this server; absent: there is one process. */
  readonly serverDocuments: SharedDocuments | undefined
  readonly drains: Drains
  readonly presets: PresetSwitch
  /** The configured preset: when it changes, an earlier choice is forgotten. */
  readonly configuredPreset: () => string | undefined
  readonly engines: () => readonly { readonly id: string; readonly engine: Engine }[]
  readonly log: Logger
}

type SharedPreset = { readonly choice: PresetChoice; readonly configured: string | null }
type SharedTemplates = { readonly [model: string]: TemplateChoice }

/** What operators choose while servers run, the same for all processes. Only servers write the documents, which are therefore trusted. */
export class SharedChoices implements OperatorChoices {
  readonly #parts: Parts
  #templates: SharedTemplates = {}
  /** The template that each engine was switched to here, as JSON. */
  readonly #applied = new WeakMap<Engine, string>()
  readonly #watched = new WeakSet<Engine>()

  private constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Reads the choices, and follows their changes. Rejects with `store-unavailable`. */
  static async open(parts: Parts): Promise<SharedChoices> {
    const choices = new SharedChoices(parts)
    await parts.documents.watch('preset', (json) => choices.#usePreset(json as SharedPreset))
    await parts.documents.watch('templates', (json) => {
      choices.#templates = json as SharedTemplates
      choices.watchModels()
    })
    await parts.serverDocuments?.watch('drains', (json) => parts.drains.replace(json as readonly DrainedServer[]))
    return choices
  }

  async presetChosen(choice: PresetChoice): Promise<void> {
    const shared: SharedPreset = { choice, configured: this.#parts.configuredPreset() ?? null }
    await this.#parts.documents.change('preset', () => shared)
  }

  async templateChosen({ id, engine }: { readonly id: string; readonly engine: Engine }, choice: TemplateChoice): Promise<void> {
    this.#applied.set(engine, JSON.stringify(choice))
    await this.#parts.documents.change('templates', (json) => ({ ...(json as SharedTemplates | undefined), [id]: choice }))
  }

  async serversDrained({ model, urls, isDraining }: Parameters<OperatorChoices['serversDrained']>[0]): Promise<void> {
    await this.#parts.serverDocuments?.change('drains', (json = []) => {
      const others = (json as readonly DrainedServer[]).filter((one) => one.model !== model || !urls.includes(one.url))
      return isDraining ? [...others, ...urls.map((url) => ({ model, url }))] : others
    })
  }

  /** Call it when there may be others. */
  watchModels(): void {
    for (const { id, engine } of this.#parts.engines()) {
      this.#useTemplate(id, engine)
      if (this.#watched.has(engine)) continue
      this.#watched.add(engine)
      engine.onState(() => this.#useTemplate(id, engine))
    }
  }

  #usePreset({ choice, configured }: SharedPreset): void {
    const { presets, configuredPreset, log } = this.#parts
    if (configured !== (configuredPreset() ?? null)) return
    try {
      presets.choose(choice)
    } catch (error) {
      log.warn({ reason: messageOf(error) }, 'the preset that another server was switched to cannot be used here')
    }
  }

  /** A model that is not loaded gets its template with its load. */
  #useTemplate(id: string, engine: Engine): void {
    const choice = this.#templates[id]
    const { templates } = engine.capabilities
    if (choice === undefined || templates === undefined || engine.state.type !== 'ready') return
    const text = JSON.stringify(choice)
    if (this.#applied.get(engine) === text) return
    this.#applied.set(engine, text)
    templates.use(choice, new AbortController().signal).catch((error: unknown) => {
      const message = 'the chat template that another server was switched to cannot be used here'
      this.#parts.log.warn({ model: id, reason: messageOf(error) }, message)
    })
  }
}
