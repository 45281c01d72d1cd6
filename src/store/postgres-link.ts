import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Lock } from '../contract/server/shared.ts'
import { toStoreError } from './failure.ts'

const applicationName = 'dragoman notices'
const reconnectMs = 1000
const connectTimeoutMs = 10_000
/** Callers wait for it. */
const queryTimeoutMs = 2000
/** The reply of the holder may be here before its unlock is in the database. */
const unlockedWithinMs = 500
const lockAgainMs = 25
/** For notifications that are lost, such as behind a pooler of connections that does not pass them on. */
const gapEveryMs = 30_000

/** `onGap` is called when notifications may have been missed: whenever the connection is there again, and from time to time. */
type Subscription = { readonly channel: string; onNotice(payload: string): void; onGap(): void }

/** A connection of its own for what a connection holds: notifications and locks. It is opened again when it breaks. */
export class PostgresLink {
  readonly #url: string
  readonly #subscriptions: Subscription[] = []
  #opening: Promise<void> | undefined
  #client: Client | undefined
  #timer: NodeJS.Timeout | undefined
  #gapTimer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(url: string) {
    this.#url = url
  }

  /** Hears the notifications of a channel. Resolves when it listens, or will try again. */
  async subscribe(subscription: Subscription): Promise<void> {
    this.#subscriptions.push(subscription)
    this.#gapTimer ??= setInterval(() => this.#onGap(), gapEveryMs).unref()
    await this.#open()
    await this.#client?.query(`listen "${subscription.channel}"`).catch(() => undefined)
  }

  /** How many other processes are connected so. */
  async countOthers(): Promise<number> {
    await this.#open()
    const [row] = await this.#query(
      'select count(*)::int - 1 as others from pg_stat_activity where datname = current_database() and application_name = $1',
      [applicationName],
    )
    return Math.max(0, Number(row?.others))
  }

  async notify(channel: string, payload: string): Promise<void> {
    await this.#query('select pg_notify($1, $2)', [channel, payload])
  }

  /** A lock that all processes see, until it is given up or this process or its connection ends. Undefined: another process has it. */
  async lock(name: string): Promise<Lock | undefined> {
    await this.#open()
    const id = createHash('sha256').update(name).digest().readBigInt64BE().toString()
    for (const endMs = performance.now() + unlockedWithinMs; ; await pause(lockAgainMs)) {
      const [row] = await this.#query('select pg_try_advisory_lock($1) as "isLocked"', [id])
      // When the connection breaks, the lock is gone with it.
      if (row?.isLocked === true) return () => void this.#query('select pg_advisory_unlock($1)', [id]).catch(() => undefined)
      if (performance.now() > endMs) return undefined
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    clearInterval(this.#gapTimer)
    await this.#opening
    await this.#client?.end()
  }

  async #query(sql: string, values: readonly string[]): Promise<readonly Readonly<Record<string, unknown>>[]> {
    try {
      if (this.#client === undefined) throw new Error('the connection for notifications is being opened')
      return (await this.#client.query(sql, [...values])).rows
    } catch (error) {
      throw toStoreError(error)
    }
  }

  #onGap(): void {
    for (const { onGap } of this.#subscriptions) onGap()
  }

  #open(): Promise<void> {
    this.#opening ??= this.#connect()
    return this.#opening
  }

  async #connect(): Promise<void> {
    const { default: pg } = await import('pg')
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: applicationName,
      connectionTimeoutMillis: connectTimeoutMs,
      query_timeout: queryTimeoutMs,
      keepAlive: true,
      // Callers do not wait for each other. When one gets no answer, the connection is opened anew: no other would get one.
      pipeline: true,
    })
    const lose = () => {
      if (this.#client === client) this.#client = undefined
      if (this.#isClosed) return
      clearTimeout(this.#timer)
      this.#timer = setTimeout(() => {
        this.#opening = this.#connect()
      }, reconnectMs).unref()
    }
    client.on('notification', ({ channel, payload = '' }) => {
      for (const each of this.#subscriptions) if (each.channel === channel) each.onNotice(payload)
    })
    // Without a listener, a broken connection would end the process.
    client.on('error', () => undefined)
    client.once('end', lose)
    try {
      await client.connect()
      for (const { channel } of this.#subscriptions) await client.query(`listen "${channel}"`)
      if (this.#isClosed) return await client.end()
      this.#client = client
      this.#onGap()
    } catch {
      // The database is away, as its other calls report; until it is back, this process is on its own.
      lose()
    }
  }
}
