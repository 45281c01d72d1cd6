import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import { type ConfiguredModel, modelFromListing } from '../../config/models.ts'
import { addressOf, type ListingConfig } from '../../config/sections/listing-schema.ts'
import { messageOf } from '../../contract/errors.ts'
import type { ListedModel, ModelLister } from '../../engine/remote/list-models.ts'
import { matchesPattern } from '../../registry/names/name-pattern.ts'

type Parts = {
  readonly config: ListingConfig
  readonly lister: ModelLister
  readonly log: Logger
  /** Milliseconds of a monotonic clock. */
  now(): number
}

/** A list is asked for again after this time, */
const freshMs = 60_000
/** or after this one when a name is looked for that is not in it, or when the server was away. */
const soonMs = 5000
/** More than any server has; beyond it, every request would pay for the search. */
const mostModels = 10_000

/** The models of one server. They stay what they were while the server is away. */
export class ModelListing {
  readonly config: ListingConfig
  readonly #parts: Parts
  readonly #closing = new AbortController()
  #models: readonly ConfiguredModel[] = []
  #isKnown = false
  #asking: Promise<void> | undefined
  #askedAtMs = Number.NEGATIVE_INFINITY
  #problem: string | undefined

  constructor(parts: Parts) {
    this.#parts = parts
    this.config = parts.config
  }

  /** As last listed; the same array until the list changes. */
  get models(): readonly ConfiguredModel[] {
    return this.#models
  }

  /** The server has been reached once at least. */
  get isKnown(): boolean {
    return this.#isKnown
  }

  /** Asks again when the list is old. Resolves when it is as new as it can be; never rejects. Undefined: it is. */
  refresh(): Promise<void> | undefined {
    return this.#askUnlessAskedWithin(this.#problem === undefined ? freshMs : soonMs)
  }

  /** The same for a name that nobody has; undefined also where it could not be one of these models. */
  lookFor(name: string): Promise<void> | undefined {
    const { prefix } = this.config
    if (!name.startsWith(prefix) || !isWanted(this.config, name.slice(prefix.length))) return undefined
    return this.#askUnlessAskedWithin(soonMs)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#asking
    await this.#parts.lister.close()
  }

  #askUnlessAskedWithin(ms: number): Promise<void> | undefined {
    if (this.#asking !== undefined) return this.#asking
    if (this.#closing.signal.aborted || this.#parts.now() - this.#askedAtMs < ms) return undefined
    this.#asking = this.#ask().finally(() => {
      this.#askedAtMs = this.#parts.now()
      this.#asking = undefined
    })
    return this.#asking
  }

  async #ask(): Promise<void> {
    const { lister, log, config } = this.#parts
    const server = addressOf(config)
    try {
      const { models, unusable } = chooseModels(config, await lister.list(this.#closing.signal))
      if (unusable.length > 0 && !this.#isKnown) log.warn({ server, models: unusable }, 'models with names that cannot be used')
      if (!this.#isKnown || this.#problem !== undefined) log.info({ server, models: models.length }, 'models of the server')
      if (!isDeepStrictEqual(this.#models, models)) this.#models = models
      this.#isKnown = true
      this.#problem = undefined
    } catch (error) {
      if (this.#closing.signal.aborted) return
      const reason = messageOf(error)
      // A server that stays away is in the log once.
      if (reason !== this.#problem) log.warn({ server, reason }, 'the models of the server could not be listed')
      this.#problem = reason
    }
  }
}

/** The models to serve, of those that a server lists; `unusable`: with names that no client could send. */
export function chooseModels(
  config: ListingConfig,
  listed: readonly ListedModel[],
): { readonly models: readonly ConfiguredModel[]; readonly unusable: readonly string[] } {
  const models = new Map<string, ConfiguredModel>()
  const unusable: string[] = []
  for (const entry of listed.slice(0, mostModels)) {
    if (!isWanted(config, entry.id) || models.has(entry.id)) continue
    if (/^[^\s*\p{Cc}]{1,500}$/u.test(entry.id)) models.set(entry.id, modelFromListing(config, entry))
    else unusable.push(entry.id.slice(0, 100))
  }
  return { models: [...models.values()], unusable }
}

function isWanted({ include, exclude }: ListingConfig, name: string): boolean {
  const matches = (pattern: string) => matchesPattern(pattern, name)
  // The name without Ollama's default tag is one, too, but it is not listed.
  return include.some(matches) && !exclude.some(matches)
}
