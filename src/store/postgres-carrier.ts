import { randomUUID } from 'node:crypto'
import type { Kysely } from 'kysely'
import { z } from 'zod'
import type { UsageCounter } from '../contract/quota.ts'
import type { Carrier, DocumentRows } from '../contract/server/shared.ts'
import type { PostgresLink } from './postgres-link.ts'
import type { Tables } from './tables.ts'

/** PostgreSQL takes less than 8000 bytes in a notification. */
const maxBytes = 7900
/** The base64 in the envelope of a part. */
const partChars = 7500
const maxParts = 2000
/** Letters whose parts are still coming: one whose sender has ended leaves at last. */
const maxOpen = 64

const partSchema = z.object({
  letter: z.string(),
  at: z.int().min(0),
  of: z.int().max(maxParts),
  base64: z.string(),
})

type Parts = { readonly db: Kysely<Tables>; readonly link: PostgresLink; readonly usage: UsageCounter }

/** A process that is stopped delays those who ask by no more. */
const answeredWithinMs = 500

type Envelope = { readonly from?: unknown; readonly question?: unknown; readonly message?: unknown; readonly answer?: unknown }

/**
 * What all processes with one database share: messages as notifications, documents in a table. Each process has a channel of its own for
 * the answers to its questions.
 */
export function createPostgresCarrier({ db, link, usage }: Parts): Carrier {
  /** Notifications also come back to their sender. */
  const own = randomUUID()
  const letters = new Letters()
  /** What takes the answers to each. */
  const questions = new Map<string, (answer: unknown) => void>()
  let isListening: Promise<void> | undefined
  const send = async (channel: string, envelope: Envelope) => {
    await Promise.all(toNotifications({ from: own, ...envelope }).map((part) => link.notify(channel, part)))
  }
  const hearAnswer = (notification: string) => {
    const { question, answer } = openEnvelope(letters.take(notification))
    questions.get(String(question))?.(answer)
  }
  const ask = async (channel: string, message: object) => {
    isListening ??= link.subscribe({ channel: answersOf(own), onNotice: hearAnswer, onGap: () => undefined })
    await isListening
    const others = await link.countOthers()
    const id = randomUUID()
    const answers: unknown[] = []
    const all = new Promise<void>((resolve) => {
      const late = setTimeout(resolve, answeredWithinMs)
      const end = () => {
        clearTimeout(late)
        resolve()
      }
      questions.set(id, (answer) => {
        if (answers.push(answer) >= others) end()
      })
      if (others === 0) end()
    })
    try {
      await send(channel, { message, question: id })
      await all
    } finally {
      questions.delete(id)
    }
    return answers
  }
  return {
    async publish(topic, message, isAnswered) {
      if (isAnswered) return ask(channelOf(topic), message)
      await send(channelOf(topic), { message })
      return []
    },
    subscribe(topic, listener, onGap) {
      const hear = async (notification: string) => {
        const { from, question, message } = openEnvelope(letters.take(notification))
        if (from === own) return
        const answer = await listener(message)
        if (typeof question === 'string') await send(answersOf(String(from)), { question, answer })
      }
      // An answer that does not arrive is one that takes too long.
      const onNotice = (notification: string) => void hear(notification).catch(() => undefined)
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

function answersOf(process: string): string {
  return `dragoman_answers_${process.replaceAll('-', '')}`
}

function openEnvelope(given: unknown): Envelope {
  return typeof given === 'object' && given !== null ? given : {}
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

/** The notifications that carry a message: one, or several parts of a long one. */
export function toNotifications(message: object): readonly string[] {
  const json = Buffer.from(JSON.stringify(message))
  if (json.length <= maxBytes) return [json.toString()]
  const base64 = json.toString('base64')
  const letter = randomUUID()
  const of = Math.ceil(base64.length / partChars)
  return Array.from({ length: of }, (_, at) =>
    JSON.stringify({ letter, at, of, base64: base64.slice(at * partChars, (at + 1) * partChars) }),
  )
}

/** Joins the parts of long messages. */
export class Letters {
  readonly #open = new Map<string, Map<number, string>>()

  /** The message that is complete with this notification; undefined for invalid JSON: any client of the database can use the channel. */
  take(notification: string): unknown {
    try {
      const given: unknown = JSON.parse(notification)
      const part = partSchema.safeParse(given).data
      return part === undefined ? given : this.#join(part)
    } catch {
      return undefined
    }
  }

  #join({ letter, at, of, base64 }: z.output<typeof partSchema>): unknown {
    const parts = this.#open.get(letter) ?? new Map<number, string>()
    parts.set(at, base64)
    this.#open.set(letter, parts)
    const [oldest] = this.#open.keys()
    if (this.#open.size > maxOpen && oldest !== undefined) this.#open.delete(oldest)
    if (parts.size < of) return undefined
    this.#open.delete(letter)
    const whole = Array.from({ length: of }, (_, index) => parts.get(index) ?? '').join('')
    return JSON.parse(Buffer.from(whole, 'base64').toString())
  }
}
