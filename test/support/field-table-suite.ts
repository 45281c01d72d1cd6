import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { DecodedCall, Dialect } from '../../src/contract/dialect.ts'
import { AppError } from '../../src/contract/errors.ts'
import type { GenerationEvent } from '../../src/contract/event.ts'
import { readCancelKeys } from '../../src/dialect/wire/cancel-keys.ts'
import { type Field, spellings } from '../../src/dialect/wire/field-table.ts'

export type FieldTableCase = {
  readonly dialect: Dialect
  readonly fields: readonly Field[]
  /** The smallest valid body. */
  readonly base: object
  /** Every property of the protocol's own request type. */
  readonly properties: readonly string[]
  /** The keys that the request's schema knows. */
  readonly schemaKeys: readonly string[]
  /** For every row a valid value that is not its default: what it changes, or does not, is what the row says. */
  readonly samples: Readonly<Record<string, unknown>>
  /** Other fields of the body, for fields that only work in combination. */
  readonly companions: Readonly<Record<string, object>>
  /** Fields that a body must have. */
  readonly required: readonly string[]
}

const events: readonly GenerationEvent[] = [
  { type: 'start', model: 'm', warnings: [] },
  { type: 'reasoning-delta', choice: 0, delta: 'hm' },
  { type: 'text-delta', choice: 0, delta: 'a' },
  { type: 'finish', choice: 0, reason: 'stop' },
  { type: 'usage', usage: { inputTokens: 1, cachedInputTokens: 0, outputTokens: 1, reasoningTokens: 0 }, timings: {} },
]

/** What the server has, so that fields about its tools have an effect. */
const serverTools = new Set(['web_search', 'python', 'docs'])

/** Proves that a dialect treats all fields as its table says: no accepted field is dropped. */
export function testFieldTable(tested: FieldTableCase): void {
  const { dialect, fields, base, properties, schemaKeys, samples, companions, required } = tested
  const rows = fields.flatMap((field) => spellings(field).map((spelling) => ({ spelling, field })))
  const rowsTreated = (treatment: string) => rows.filter(({ field }) => field.treatment === treatment)
  const baseFor = (name: string): object => ({ ...base, ...companions[name] })

  function decode(body: object): DecodedCall {
    const decoded = dialect.decode({ body, headers: {} }, { id: 'id-1', serverTools })
    if (decoded instanceof Promise) throw new Error('this dialect decodes asynchronously')
    return decoded
  }

  /** Everything that a body determines: the requests, how they are run and can be cancelled, and the encoded reply. */
  function observe(body: object): unknown {
    const { requests, stream, ignored, keepLoaded, toStored, createStreamEncoder } = decode(body)
    const encoder = createStreamEncoder()
    const cancelKeys = readCancelKeys({ headers: {}, body })
    const isStored = toStored !== undefined
    return { requests, stream, ignored, keepLoaded, isStored, cancelKeys, frames: events.map((event) => encoder.encode(event)) }
  }

  beforeEach(() => {
    vi.useFakeTimers({ now: 1_700_000_000_000 })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  describe('the field table', () => {
    test('has every property of the protocol', () => {
      expect(properties.length).toBeGreaterThan(4)
      expect(properties.filter((name) => !rows.some(({ spelling }) => spelling === name))).toEqual([])
    })

    test('has every key of the schema, and the schema every field that is not refused', () => {
      const accepted = rows.filter(({ field }) => field.treatment !== 'refused').map(({ spelling }) => spelling)
      expect([...schemaKeys].sort()).toEqual(accepted.sort())
    })

    test('names no field twice, and every field has a sample here', () => {
      const names = rows.map(({ spelling }) => spelling)
      expect(new Set(names).size).toBe(names.length)
      expect(Object.keys(samples).sort()).toEqual(fields.map(({ name }) => name).sort())
    })

    test.each(rowsTreated('used'))('$spelling is used: it changes what is decoded', ({ spelling, field }) => {
      const around = baseFor(field.name)
      expect(observe({ ...around, [spelling]: samples[field.name] })).not.toEqual(observe(around))
    })

    test.each(rows.filter(({ field, spelling }) => field.treatment === 'used' && spelling !== field.name))(
      '$spelling means the same as $field.name',
      ({ spelling, field }) => {
        const around = baseFor(field.name)
        const value = samples[field.name]
        const expected = observe({ ...around, [field.name]: value })
        expect(observe({ ...around, [spelling]: value })).toEqual(expected)
        expect(observe({ ...around, [spelling]: value, [field.name]: value })).toEqual(expected)
      },
    )

    test.each(rowsTreated('informational'))('$spelling is informational: it changes nothing', ({ spelling, field }) => {
      const around = baseFor(field.name)
      expect(observe({ ...around, [spelling]: samples[field.name] })).toEqual(observe(around))
    })

    test.each(rowsTreated('refused'))('$spelling is refused by name, and its default is not', ({ spelling, field }) => {
      const around = baseFor(field.name)
      const refusal = expect.objectContaining({
        code: 'unsupported-field',
        param: spelling,
        message: expect.stringContaining(spelling),
      })
      expect(() => observe({ ...around, [spelling]: samples[field.name] })).toThrow(refusal)
      const accepts = field.treatment === 'refused' ? (field.accepts ?? []) : []
      for (const value of [null, ...accepts]) expect(observe({ ...around, [spelling]: value })).toEqual(observe(around))
    })

    test.each(rowsTreated('used').filter(({ field }) => !required.includes(field.name)))(
      'a null $spelling is the same as none',
      ({ spelling, field }) => {
        const around = baseFor(field.name)
        const { [spelling]: _, ...without } = around as Record<string, unknown>
        expect(observe({ ...without, [spelling]: null })).toEqual(observe(without))
      },
    )

    test.each(rows.filter(({ field }) => field.treatment !== 'refused'))(
      '$spelling of a wrong type is refused by name',
      ({ spelling, field }) => {
        const wrong = typeof samples[field.name] === 'object' ? 5.5 : { never: ['a', 'value'] }
        let failure: unknown
        try {
          observe({ ...baseFor(field.name), [spelling]: wrong })
        } catch (error) {
          failure = error
        }
        expect(failure).toBeInstanceOf(AppError)
        expect(failure).toMatchObject({ code: 'invalid-request', param: expect.stringMatching(new RegExp(`^${spelling}`)) })
      },
    )
  })
}
