import { Pool } from 'undici'

/** Connections to servers, a pool for each origin. */
export class Connections {
  readonly #options: Pool.Options
  readonly #pools = new Map<string, Pool>()

  constructor(options: Pool.Options) {
    this.#options = options
  }

  to(origin: string): Pool {
    const known = this.#pools.get(origin)
    if (known !== undefined) return known
    const pool = new Pool(origin, this.#options)
    this.#pools.set(origin, pool)
    return pool
  }

  /** Closes the connections to an origin. Requests on them fail with the error; new ones open new connections. */
  async cut(origin: string, error: Error): Promise<void> {
    const pool = this.#pools.get(origin)
    this.#pools.delete(origin)
    await pool?.destroy(error)
  }

  async destroy(): Promise<void> {
    const pools = [...this.#pools.values()]
    this.#pools.clear()
    await Promise.all(pools.map((pool) => pool.destroy()))
  }
}
