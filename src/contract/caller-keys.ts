/**
 * Keys that a caller brings for the servers behind a model, by provider name, such as `openai`. They cannot be listed, and copies of a
 * request, in messages to other processes, in logs or in stores, do not contain them.
 */
export class CallerKeys {
  readonly #keys: ReadonlyMap<string, string>

  constructor(keys: ReadonlyMap<string, string>) {
    this.#keys = keys
  }

  /** The key for a provider's servers. */
  get(provider: string): string | undefined {
    return this.#keys.get(provider)
  }
}
