/** A set with listeners to its changes. */
export class WatchedSet<T> {
  readonly #members: Set<T>
  readonly #listeners = new Set<(member: T) => void>()

  constructor(members: Iterable<T> = []) {
    this.#members = new Set(members)
  }

  has(member: T): boolean {
    return this.#members.has(member)
  }

  /** Adds or removes the member. */
  set(member: T, isIn: boolean): void {
    if (isIn === this.has(member)) return
    if (isIn) this.#members.add(member)
    else this.#members.delete(member)
    for (const listener of this.#listeners) listener(member)
  }

  /** Calls the listener with members that were added or removed, until the returned function is called. */
  listen(listener: (member: T) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
}
