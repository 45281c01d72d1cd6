import { z } from 'zod'

// The only file that overrides Zod's internals: `z.core.$constructor`, `_zod.parse` and `_zod.run`. Zod has no public option
// that stops at the first issue, and its own arrays and records report every one: a body of a few megabytes with a million bad
// elements would cost a million issues. Checked with Zod 4.6.7; after an update, first-fault.test.ts shows whether the overrides
// still take effect.

type Payload = z.core.ParsePayload
type Limit = { readonly count: number; readonly error: string }
type ListParams = {
  readonly error?: string
  /** Checked with the first element, however many there are. */
  readonly max?: Limit
  /** A quick test that the element's schema accepts a value and returns it unchanged; false: the schema decides. */
  readonly accepts?: (value: unknown) => boolean
}

/** More fields than any object of a protocol has; each unknown one costs time. */
const maxObjectFields = 256

/**
 * `z.array` that stops at the first bad element and reports only that one, so that the work for an error does not grow with a
 * hostile body.
 */
export function list<T extends z.ZodType>(element: T, { error, max, accepts }: ListParams = {}): z.ZodArray<T> {
  const def = { type: 'array', element, ...(error !== undefined && { error: () => error }), limit: max, accepts }
  return new FirstFaultArray(def as never) as unknown as z.ZodArray<T>
}

/** `z.record` that stops at the first bad entry and reports only that one. An empty list is an empty object. */
export function dictionary<V extends z.ZodType>(
  key: z.ZodString,
  value: V,
  { max }: { readonly max?: Limit } = {},
): z.ZodRecord<z.ZodString, V> {
  const def = { type: 'record', keyType: key, valueType: value, limit: max }
  return new FirstFaultRecord(def as never) as unknown as z.ZodRecord<z.ZodString, V>
}

/** What `unknown-keys.ts` makes of the keys of an object that its shape lacks. */
export type KeyRules = {
  /** Accepted, although nothing reads them. */
  readonly also?: readonly string[]
  /** Whether those of this object are reported; others of the same shape are not looked into. */
  readonly reports?: 'never' | ((value: Readonly<Record<string, unknown>>) => boolean)
}

/** `z.looseObject` that refuses an object with far more fields than a protocol has. */
export function looseObject<Shape extends z.ZodRawShape>(
  shape: Shape,
  keyRules: KeyRules = {},
): z.ZodObject<Shape, z.core.$loose> {
  const def = Object.assign(z.looseObject(shape)._zod.def, { keyRules })
  return new BoundedObject(def as never) as unknown as z.ZodObject<Shape, z.core.$loose>
}

/** An object that is not looked into: its kind is left out as a whole, or clients send it back as they got it. */
export function openObject<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$loose> {
  return looseObject(shape, { reports: 'never' })
}

export function keyRulesOf(schema: z.core.$ZodType): KeyRules {
  return (schema._zod.def as { readonly keyRules?: KeyRules }).keyRules ?? {}
}

const FirstFaultArray = z.core.$constructor<z.ZodArray>('FirstFaultArray', (schema, def) => {
  z.ZodArray.init(schema, def)
  const { limit, accepts } = def as unknown as { limit?: Limit; accepts?: ListParams['accepts'] }
  const parseWithZod = schema._zod.parse
  schema._zod.parse = (payload, context) => {
    const given: unknown = payload.value
    if (!Array.isArray(given)) return parseWithZod(payload, context)
    const isTooLong = limit !== undefined && given.length > limit.count
    if (!isTooLong && accepts !== undefined && given.every(accepts)) return payload
    const items: unknown[] = []
    for (const [index, value] of given.entries()) {
      const result = requireSync(def.element._zod.run({ value, issues: [] }, context))
      if (result.issues.length > 0) {
        payload.issues.push(...z.core.util.prefixIssues(index, result.issues))
        return payload
      }
      // Only now, so that a union of lists reports the length of the one that has such elements.
      if (isTooLong) return tooMany(payload, limit, { origin: 'array', inst: schema })
      items.push(result.value)
    }
    payload.value = items
    return payload
  }
})

const FirstFaultRecord = z.core.$constructor<z.ZodRecord>('FirstFaultRecord', (schema, def) => {
  z.ZodRecord.init(schema, def)
  const { limit } = def as unknown as { limit?: Limit }
  const parseWithZod = schema._zod.parse
  const isFine = (type: z.core.$ZodType, value: unknown, context: z.core.ParseContextInternal) => {
    const result = requireSync(type._zod.run({ value, issues: [] }, context))
    return result.issues.length === 0 && result.value === value
  }
  schema._zod.parse = (payload, context) => {
    const given: unknown = payload.value
    if (isEmptyList(given)) return asEmptyObject(payload)
    if (!z.core.util.isPlainObject(given)) return parseWithZod(payload, context)
    const all = Object.entries(given)
    if (limit !== undefined && all.length > limit.count) return tooMany(payload, limit, { origin: 'object', inst: schema })
    const entries: [string, unknown][] = []
    for (const entry of all) {
      const [key, value] = entry
      if (key !== '__proto__' && isFine(def.keyType, key, context) && isFine(def.valueType, value, context)) {
        entries.push(entry)
        continue
      }
      const result = requireSync(parseWithZod({ value: Object.fromEntries([entry]), issues: [] }, context))
      if (result.issues.length > 0) {
        payload.issues.push(...result.issues)
        return payload
      }
      entries.push(...Object.entries(result.value as object))
    }
    payload.value = Object.fromEntries(entries)
    return payload
  }
})

const BoundedObject = z.core.$constructor<z.ZodObject>('BoundedObject', (schema, def) => {
  z.ZodObject.init(schema, def)
  const parseWithZod = schema._zod.parse
  const limit = { count: maxObjectFields, error: `an object of at most ${maxObjectFields} fields` }
  schema._zod.parse = (payload, context) => {
    const given: unknown = payload.value
    const isTooLarge = typeof given === 'object' && given !== null && hasMoreFields(given, limit.count)
    return isTooLarge ? tooMany(payload, limit, { origin: 'object', inst: schema }) : parseWithZod(payload, context)
  }
})

const PlainRecord = z.core.$constructor<z.ZodRecord>('PlainRecord', (schema, def) => {
  z.ZodRecord.init(schema, def)
  const parseWithZod = schema._zod.parse
  schema._zod.parse = (payload, context) => {
    if (z.core.util.isPlainObject(payload.value)) return payload
    return isEmptyList(payload.value) ? asEmptyObject(payload) : parseWithZod(payload, context)
  }
})

/** An object with arbitrary keys (a JSON Schema, template variables), as it is: `z.record` would copy it. An empty list is an empty object. */
export const jsonObject = new PlainRecord(z.record(z.string(), z.unknown())._zod.def as never) as unknown as z.ZodRecord<
  z.ZodString,
  z.ZodUnknown
>

/** What PHP writes for an object without keys. */
function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

function asEmptyObject(payload: Payload): Payload {
  payload.value = {}
  return payload
}

/** Without listing all of them. */
function hasMoreFields(value: object, count: number): boolean {
  if (Array.isArray(value)) return false
  let seen = 0
  for (const _ in value) if (++seen > count) return true
  return false
}

function tooMany(payload: Payload, { count, error }: Limit, at: { origin: 'array' | 'object'; inst: z.ZodType }): Payload {
  const { inst, origin } = at
  // With `continue`, a union takes it for the closest branch, as it does with Zod's own limits.
  const issue = { code: 'too_big', origin, maximum: count, inclusive: true, input: payload.value, inst, continue: true }
  payload.issues.push({ ...issue, message: error } as z.core.$ZodRawIssue)
  return payload
}

function requireSync(result: Payload | Promise<Payload>): Payload {
  if (result instanceof Promise) throw new Error('a schema of a request body must be synchronous')
  return result
}
