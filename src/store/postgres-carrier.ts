import { randomUUID } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { UsageCounter } from '../contract/quota.ts'
import type { Carrier, DocumentRows } from '../contract/server/shared.ts'
import type { PostgresLink } from './postgres-link.ts'
import type { Tables } from './tables.ts'

type Parts = { readonly db: Kysely<Tables>; readonly link: PostgresLink; readonly usage: UsageCounter }

/** What all processes with one database share: messages as notifications, documents in a table. */
export function createPostgresCarrier({ db, link, usage }: Parts): Carrier {
  /** Notifications also come back to their sender. */
  const own = randomUUID()
  return {
    async publish(topic, message) {
      await link.notify(channelOf(topic), JSON.stringify({ from: own, ...message }))
      return []
    },
    subscribe(topic, listener, onGap) {
      const onNotice = (payload: string) => {
        const message = parse(payload)
        if (message?.from !== own) listener(message)
      }
      return link.subscribe({ channel: channelOf(topic), onNotice, onGap })
    },
    documents: createRows(db),
    usage,
    lock: (name) => link.lock(name),
  }
}

function channelOf(topic: string): string {
  return `dragoman_${topic}`
}

/** Undefined for invalid JSON: any client of the database can use the channel. */
function parse(payload: string): { readonly from?: unknown } | undefined {
  try {
    return JSON.parse(payload) ?? undefined
  } catch {
    return undefined
  }
}

function createRows(db: Kysely<Tables>): DocumentRows {
  return {
    async read(name, laterThan) {
      const query = db.selectFrom('documents').select(['version', 'json'])
      const row = await query.where('name', '=', name).where('version', '>', laterThan).executeTakeFirst()
      return row && { version: row.version, json: JSON.parse(row.json) }
    },
    async write(name, { version, json }) {
      const row = { version, json: JSON.stringify(json) }
      const written = await db
        .insertInto('documents')
        .values({ name, ...row })
        .onConflict((conflict) =>
          conflict
            .column('name')
            .doUpdateSet(row)
            .where('documents.version', '=', version - 1),
        )
        .returning('name')
        .executeTakeFirst()
      return written !== undefined
    },
  }
}
