import type { Logger } from 'pino'
import type { LoadedConfig } from '../config/load.ts'
import type { AccessRules } from '../http/access.ts'
import { type FoundKeys, findKeys } from './find-keys.ts'
import { startWritingUses } from './write-uses.ts'

type ServerKeysOptions = {
  readonly log: Logger
  /** Called with a key that had to be made. */
  onKey(key: string): void
}

/** The keys that a server accepts, and the record of their use. */
export class ServerKeys {
  readonly #options: ServerKeysOptions
  #found: FoundKeys = { apiKeys: [] }
  #uses: ReturnType<typeof startWritingUses> | undefined

  constructor(options: ServerKeysOptions) {
    this.#options = options
  }

  get areRequired(): boolean {
    return this.#found.apiKeys.length > 0 || this.#found.findKey !== undefined
  }

  /** The keys of the configuration, and those of the key file where they count. */
  get auth(): AccessRules['auth'] {
    const { apiKeys, findKey } = this.#found
    return { apiKeys, ...(findKey !== undefined && { findKey }) }
  }

  /** Finds those of a configuration. Resolves with what makes them the keys of the server. */
  async find(config: Pick<LoadedConfig, 'server' | 'home'>): Promise<() => void> {
    const found = await findKeys(config)
    if (found.createdKey !== undefined) this.#options.onKey(found.createdKey)
    return () => {
      void this.#uses?.stop()
      this.#found = found
      this.#uses = found.writeUses && startWritingUses(found.writeUses, this.#options.log)
    }
  }

  async close(): Promise<void> {
    await this.#uses?.stop()
  }
}
