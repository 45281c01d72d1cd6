import type { Logger } from 'pino'
import type { LoadedConfig } from '../../config/load.ts'
import { messageOf } from '../../contract/errors.ts'
import type { KeyDirectory } from '../../contract/keys.ts'
import type { AccessRules } from '../../http/access/access.ts'
import { type FoundKeys, findKeys } from './find-keys.ts'
import { createKeyDirectory } from './key-directory.ts'

/** The keys that a server accepts, and the record of their use. */
export class ServerKeys {
  readonly #log: Logger
  #found: FoundKeys
  #uses: ReturnType<typeof startWritingUses> | undefined

  constructor(config: Pick<LoadedConfig, 'server' | 'home'>, log: Logger) {
    this.#log = log
    this.#found = this.#take(config)
  }

  get areRequired(): boolean {
    return this.#found.apiKeys.length > 0 || this.#found.findKey !== undefined
  }

  /** The keys of the configuration, and those of the key file where they count. */
  get auth(): AccessRules['auth'] {
    const { apiKeys, findKey } = this.#found
    return { apiKeys, ...(findKey !== undefined && { findKey }) }
  }

  /** Takes those of a configuration. */
  use(config: Pick<LoadedConfig, 'server' | 'home'>): void {
    void this.#uses?.stop()
    this.#found = this.#take(config)
  }

  /** What operators see of them. */
  get directory(): KeyDirectory {
    return createKeyDirectory({
      file: this.#found.file,
      configured: () => this.#found.apiKeys,
      areRequired: () => this.areRequired,
    })
  }

  #take(config: Pick<LoadedConfig, 'server' | 'home'>): FoundKeys {
    const found = findKeys(config)
    this.#uses = found.writeUses && startWritingUses(found.writeUses, this.#log)
    return found
  }

  /** Makes the key of a server that needs one and has none. Returns it only this once. */
  async ensureKey(): Promise<string | undefined> {
    return this.#found.ensureKey?.()
  }

  async close(): Promise<void> {
    await this.#uses?.stop()
  }
}

const writeEveryMs = 60_000

/** Writes when keys were used, once a minute and at the end. A failure is logged: it must not stop a server. */
function startWritingUses(writeUses: () => Promise<void>, log: Logger): { stop(): Promise<void> } {
  let writing = Promise.resolve()
  const write = () => {
    writing = writing
      .then(writeUses)
      .catch((error: unknown) => log.warn({ reason: messageOf(error) }, 'the last use of API keys could not be written'))
  }
  const timer = setInterval(write, writeEveryMs)
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      write()
      await writing
    },
  }
}
