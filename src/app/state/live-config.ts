import { hostname } from 'node:os'
import type { Logger } from 'pino'
import { settingsForRestart } from '../../config/changed-settings.ts'
import type { LoadedConfig } from '../../config/load.ts'
import type { KeyDirectory } from '../../contract/server/keys.ts'
import { PresetSwitch } from '../../core/presets/preset-switch.ts'
import { readPreset } from '../../dialect/presets/read-preset.ts'
import type { AccessRules } from '../../http/access/access.ts'
import type { Generating } from '../../http/run/deps.ts'
import { TemplateFolder } from '../../registry/names/template-folder.ts'
import { checkKeysRemain } from '../keys/find-keys.ts'
import type { MadeKeys } from '../keys/made-keys.ts'
import { ServerKeys } from '../keys/server-keys.ts'
import type { TemplateFiles } from '../models/templates/template-by-name.ts'

/** The configuration of a running server, and everything that follows its changes, except its models. */
export class LiveConfig {
  readonly presets: PresetSwitch
  /** The templates of the currently configured folder. */
  readonly templates: NonNullable<Generating['templates']> & TemplateFiles
  readonly #log: Logger
  readonly #started: LoadedConfig
  readonly #keys: ServerKeys
  #current: LoadedConfig

  private constructor(config: LoadedConfig, made: MadeKeys, log: Logger) {
    this.#log = log
    this.#started = config
    this.#current = config
    this.#keys = new ServerKeys(config.server, made, log)
    this.presets = createPresets(config)
    const current = () => this.#current
    const folder = () => {
      const { templates } = current()
      return templates === undefined ? undefined : new TemplateFolder(templates)
    }
    this.templates = {
      list: async () => (await folder()?.list()) ?? [],
      read: async (name) => folder()?.read(name),
      find: async (names) => folder()?.find(names),
      get areOpen() {
        return current().requestTemplates === 'everyone'
      },
    }
  }

  /** Throws `invalid-request` for a preset with values that a request could not have. */
  static open(config: LoadedConfig, made: MadeKeys, log: Logger): LiveConfig {
    const live = new LiveConfig(config, made, log)
    live.#warnOfOpenOrigins()
    return live
  }

  get current(): LoadedConfig {
    return this.#current
  }

  get requiresKey(): boolean {
    return this.#keys.areRequired
  }

  /** The keys, as operators see them. */
  get keys(): KeyDirectory {
    return this.#keys.directory
  }

  /** Makes the key of a server that needs one and has none. Returns it only this once. */
  ensureKey(): Promise<string | undefined> {
    return this.#keys.ensureKey()
  }

  get access(): AccessRules {
    const { allowedHosts, allowedOrigins } = this.#current.server
    return {
      auth: this.#keys.auth,
      hosts: { hostname: hostname(), allowedHosts: [this.#started.server.host, ...allowedHosts] },
      allowedOrigins,
    }
  }

  /**
   * Applies a new configuration, whose models `replaceModels` applies. Warns about settings that need a restart. Throws, without a change,
   * if a preset is invalid, the last configured key is gone, or `replaceModels` throws.
   */
  change(next: LoadedConfig, replaceModels: (before: LoadedConfig) => void): void {
    const before = this.#current
    checkKeysRemain(before.server, next.server)
    const presets = createPresets(next)
    replaceModels(before)
    this.#current = next
    // The listening address is unchanged, and decides whether keys are needed.
    this.#keys.use({ ...next.server, host: this.#started.server.host })
    this.presets.adopt(presets, { isOtherFirst: before.sampling.preset !== next.sampling.preset })
    if (before.log.level !== next.log.level) this.#log.level = next.log.level
    const settings = settingsForRestart(this.#started, next)
    if (settings.length > 0) {
      this.#log.warn(
        { settings },
        `changes of ${settings.join(', ')} need a restart of the server, which goes on with the old values`,
      )
    }
    this.#warnOfOpenOrigins()
  }

  close(): Promise<void> {
    return this.#keys.close()
  }

  #warnOfOpenOrigins(): void {
    if (this.requiresKey || !this.#current.server.allowedOrigins.includes('*')) return
    this.#log.warn('server.allowedOrigins is * and no API key is required: any web page open on this machine can use the models')
  }
}

/** Throws `invalid-request` for a preset with values that a request could not have. */
export function checkPresets(config: LoadedConfig): void {
  createPresets(config)
}

function createPresets({ sampling: { preset, presets } }: LoadedConfig): PresetSwitch {
  const read = Object.entries(presets).map(([name, wire]) => [name, readPreset(wire, `sampling.presets.${name}`)] as const)
  return new PresetSwitch(new Map(read), preset)
}
