/** Texts that the browser keeps by their names. Where it refuses, as with blocked cookies or when it is full, they last as long as the page. */
class Kept {
  readonly #storage: () => Storage
  readonly #refused = new Map<string, string | undefined>()

  constructor(storage: () => Storage) {
    this.#storage = storage
  }

  get(name: string): string | undefined {
    try {
      if (!this.#refused.has(name)) return this.#storage().getItem(name) ?? undefined
    } catch {
      // It was never kept.
    }
    return this.#refused.get(name)
  }

  /** Without a text, the name is forgotten. */
  set(name: string, text: string | undefined): void {
    try {
      if (text === undefined) this.#storage().removeItem(name)
      else this.#storage().setItem(name, text)
      this.#refused.delete(name)
    } catch {
      this.#refused.set(name, text)
    }
  }
}

/** For all tabs, and after the browser was closed. */
export const keptHere = new Kept(() => localStorage)
/** As long as the tab. */
export const keptInTab = new Kept(() => sessionStorage)
