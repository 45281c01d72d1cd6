import { randomUUID } from 'node:crypto'
import type { Client } from 'pg'
import { z } from 'zod'
import type { CancelBus, SharedCancel } from '../contract/store.ts'
import { toStoreError } from './failure.ts'

const channel = 'dragoman_cancels'
const reconnectMs = 1000
const connectTimeoutMs = 10_000
/** Callers wait for it. */
const queryTimeoutMs = 2000

const messageSchema = z.object({
  from: z.string(),
  by: z.string(),
  isAdmin: z.boolean(),
  cancelId: z.string().exactOptional(),
  sessionId: z.string().exactOptional(),
  replyIds: z.array(z.string()),
})

/** Cancels as notifications of PostgreSQL, on a connection of its own, which is opened again when it breaks. */
export class PostgresCancels implements CancelBus {
  readonly #url: string
  /** Notifications also come back to their sender. */
  readonly #process = randomUUID()
  #client: Client | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(url: string) {
    this.#url = url
  }

  async publish(cancel: SharedCancel): Promise<number> {
    try {
      if (this.#client === undefined) throw new Error('the connection for cancels is being opened')
      await this.#client.query('select pg_notify($1, $2)', [channel, JSON.stringify({ from: this.#process, ...cancel })])
      // Notifications have no answer.
      return 0
    } catch (error) {
      throw toStoreError(error)
    }
  }

  async listen(listener: (cancel: SharedCancel) => void): Promise<void> {
    const { default: pg } = await import('pg')
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: 'dragoman cancels',
      connectionTimeoutMillis: connectTimeoutMs,
      query_timeout: queryTimeoutMs,
      keepAlive: true,
    })
    const lose = () => {
      if (this.#client === client) this.#client = undefined
      if (this.#isClosed) return
      clearTimeout(this.#timer)
      this.#timer = setTimeout(() => void this.listen(listener), reconnectMs).unref()
    }
    client.on('notification', ({ payload }) => {
      const message = readMessage(payload)
      if (message === undefined || message.from === this.#process) return
      const { from: _, ...cancel } = message
      listener(cancel)
    })
    // Without a listener, a broken connection would end the process.
    client.on('error', () => undefined)
    client.once('end', lose)
    try {
      await client.connect()
      await client.query(`listen ${channel}`)
      if (this.#isClosed) return await client.end()
      this.#client = client
    } catch {
      // The database is away, as its other calls report; cancels then end what runs in their own process.
      lose()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#client?.end()
  }
}

/** Undefined for what no server of this version sends: any client of the database can use the channel. */
function readMessage(payload: string | undefined): z.output<typeof messageSchema> | undefined {
  try {
    return messageSchema.parse(JSON.parse(payload ?? ''))
  } catch {
    return undefined
  }
}
