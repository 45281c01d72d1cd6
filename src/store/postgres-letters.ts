import { randomUUID } from 'node:crypto'
import { z } from 'zod'

/** PostgreSQL takes less than 8000 bytes in a notification. */
const maxBytes = 7900
/** Of base64, in the envelope of a part. */
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
