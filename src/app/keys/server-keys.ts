import type { Logger } from 'pino'
import type { LoadedConfig } from '../../config/load.ts'
import { messageOf } from '../../contract/errors.ts'
import type { KeyDirectory } from '../../contract/server/keys.ts'
import type { AccessRules } from '../../http/access/access.ts'
import { type FoundKeys, findKeys } from './find-keys.ts'
import { createKeyDirectory } from './key-directory.ts'
import type { MadeKeys } from './made-keys.ts'

type ServerSettings = LoadedConfig['server']

/** The keys that a server accepts, and the record of their use. */
export class ServerKeys {
  readonly #log: Logger
  readonly #made: MadeKeys
  #found: FoundKeys
  #groups: readonly string[] = []
  #uses: ReturnType<typeof startWritingUses> | undefined

  constructor(server: ServerSettings, made: MadeKeys, log: Logger) {
    this.#log = log
    this.#made = made
    this.#found = this.#take(server)
  }

  get areRequired(): boolean {
    return this.#found.apiKeys.length > 0 || this.#found.findKey !== undefined
  }

  /** The configured keys, and the made ones that count. */
  get auth(): AccessRules['auth'] {
    const { apiKeys, findKey, refresh } = this.#found
    return { apiKeys, ...(findKey !== undefined && { findKey }), ...(refresh !== undefined && { refresh }) }
  }

  /** Applies the keys of a configuration. */
  use(server: ServerSettings): void {
    void this.#uses?.stop()
    this.#found = this.#take(server)
  }

  /** The keys as operators see them. */
  get directory(): KeyDirectory {
    return createKeyDirectory({
      made: this.#made,
      configured: () => this.#found.apiKeys,
      groups: () => this.#groups,
      areRequired: () => this.areRequired,
    })
  }

  #take(server: ServerSettings): FoundKeys {
    const found = findKeys(server, this.#made)
    const short = shortKeys(server)
    if (short.length > 0)
      this.#log.warn({ settings: short }, `keys of fewer than ${shortestKey} characters can be guessed: choose longer ones`)
    this.#groups = Object.keys(server.keyGroups ?? {})
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

const shortestKey = 16

/** The settings of configured keys that are easy to guess. */
function shortKeys({ apiKeys = [], adminKey }: ServerSettings): readonly string[] {
  const keys = apiKeys.map((one, index) => [`server.apiKeys[${index}]`, typeof one === 'string' ? one : one.key] as const)
  const all = adminKey === undefined ? keys : [...keys, ['server.adminKey', adminKey] as const]
  return all.flatMap(([setting, key]) => (key.length < shortestKey ? [setting] : []))
}

const writeEveryMs = 60_000

/** Writes the times when keys were used, once a minute and at the end. A failure is logged: it must not stop a server. */
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
