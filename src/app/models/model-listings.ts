import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import type { LoadedConfig } from '../../config/load.ts'
import type { ConfiguredModel } from '../../config/models.ts'
import { addressOf } from '../../config/sections/listing-schema.ts'
import { createModelLister } from '../../engine/remote/list-models.ts'
import { readKey } from './create-endpoint-source.ts'
import type { Registered } from './create-model.ts'
import { ModelListing } from './model-listing.ts'
import type { ModelSet } from './model-set.ts'
import { isListed, placeListed } from './place-listed.ts'

type Listings = LoadedConfig['listings']

type Parts = {
  readonly models: ModelSet
  readonly log: Logger
  create(config: ConfiguredModel): Registered
  now?(): number
  readonly env?: NodeJS.ProcessEnv
}

/** How long those who want to see all models wait for a server that is asked for its own. */
const waitMs = 2000

/** Keeps in the set the models that servers list. A server is asked when somebody wants to know, and then not too often. */
export class ModelListings {
  readonly #parts: Parts
  #listings: readonly ModelListing[] = []
  /** The names in the log that other models have. */
  readonly #warned = new Set<string>()

  /** Throws `invalid-request` for an API key that is not in the environment. Nothing is asked yet. */
  constructor(configs: Listings, parts: Parts) {
    this.#parts = parts
    this.#listings = this.#open(configs)
  }

  /** How many of the lists are known, of those that there are. */
  get known(): 'all' | 'some' | 'none' {
    if (this.#listings.every(({ isKnown }) => isKnown)) return 'all'
    return this.#listings.some(({ isKnown }) => isKnown) ? 'some' : 'none'
  }

  /** Asks for lists that are old, and waits for them a little while. Undefined: there is nothing to wait for. */
  refresh(): Promise<void> | undefined {
    const asking = this.#ask((listing) => listing.refresh())
    if (asking === undefined) return undefined
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, waitMs)
    })
    return Promise.race([asking, late]).finally(() => clearTimeout(timer))
  }

  /** Asks the servers that may have a model by now that nobody has. Undefined: there are none. */
  lookFor(name: string): Promise<void> | undefined {
    return this.#ask((listing) => listing.lookFor(name))
  }

  /**
   * Serves the models of other servers from now on. `replace` changes those that are not listed, and may throw: then nothing has changed.
   * Throws as the constructor does.
   */
  change(configs: Listings, replace: (others: readonly Registered[]) => readonly Registered[]): void {
    const { models } = this.#parts
    const before = this.#listings
    const after = this.#open(configs)
    try {
      void models.change((all) => this.#place(replace(all.filter((model) => !isListed(model))), all, after))
    } catch (error) {
      for (const listing of after) if (!before.includes(listing)) void listing.close()
      throw error
    }
    this.#listings = after
    for (const listing of before) if (!after.includes(listing)) void listing.close()
    void this.refresh()
  }

  async close(): Promise<void> {
    await Promise.all(this.#listings.map((listing) => listing.close()))
  }

  /** Those that are the same stay open, with what they know. */
  #open(configs: Listings): readonly ModelListing[] {
    const { log, now = () => performance.now(), env = process.env } = this.#parts
    return configs.map((config) => {
      const same = this.#listings.find((listing) => isDeepStrictEqual(listing.config, config))
      if (same !== undefined) return same
      const { url, apiKeyEnv, server } = config.from
      const key = readKey(apiKeyEnv, { user: `the list of models of ${addressOf(config)}`, env })
      const lister = createModelLister({ url, ...key, ...(server !== 'auto' && { profile: server }) })
      return new ModelListing({ config, lister, log, now })
    })
  }

  #ask(ask: (listing: ModelListing) => Promise<void> | undefined): Promise<void> | undefined {
    const asking = this.#listings.flatMap((listing) => {
      const before = listing.models
      return ask(listing)?.then(() => listing.models !== before) ?? []
    })
    if (asking.length === 0) return undefined
    return Promise.all(asking).then((changes) => {
      if (!changes.includes(true)) return
      const { models } = this.#parts
      void models.change((all) =>
        this.#place(
          all.filter((model) => !isListed(model)),
          all,
          this.#listings,
        ),
      )
    })
  }

  #place(others: readonly Registered[], before: readonly Registered[], listings: readonly ModelListing[]): readonly Registered[] {
    const { create, log } = this.#parts
    const listed = listings.flatMap(({ models }) => models)
    const { models, hidden } = placeListed(others, { before, listed, create })
    const fresh = hidden.filter((id) => !this.#warned.has(id))
    for (const id of fresh) this.#warned.add(id)
    if (fresh.length > 0) {
      log.warn(
        { models: fresh },
        'listed models with the names of other models, which keep them: set `prefix`, or `exclude` them',
      )
    }
    return models
  }
}
