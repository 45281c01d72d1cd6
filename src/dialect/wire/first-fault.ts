import { z } from 'zod'

type Params = { readonly error: string }
type Payload = z.core.ParsePayload

/**
 * `z.array` that tells its first bad element and looks at no more of them: an error message has room for one fault, and a small
 * body has room for a million, each of which Zod would describe.
 */
export function list<T extends z.ZodType>(element: T, params?: Params): z.ZodArray<T> {
  return new FirstFaultArray({ type: 'array', element, ...errorOf(params) }) as z.ZodArray<T>
}

/** `z.record`, with the same promise. */
export function dictionary<V extends z.ZodType>(key: z.ZodString, value: V): z.ZodRecord<z.ZodString, V> {
  return new FirstFaultRecord({ type: 'record', keyType: key, valueType: value }) as z.ZodRecord<z.ZodString, V>
}

const FirstFaultArray = z.core.$constructor<z.ZodArray>('FirstFaultArray', (schema, def) => {
  z.ZodArray.init(schema, def)
  const parseAny = schema._zod.parse
  schema._zod.parse = (payload, context) => {
    const given: unknown = payload.value
    if (!Array.isArray(given)) return parseAny(payload, context)
    const items: unknown[] = []
    for (const [index, value] of given.entries()) {
      const result = settled(def.element._zod.run({ value, issues: [] }, context))
      if (result.issues.length > 0) {
        payload.issues.push(...z.core.util.prefixIssues(index, result.issues))
        return payload
      }
      items.push(result.value)
    }
    payload.value = items
    return payload
  }
})

const FirstFaultRecord = z.core.$constructor<z.ZodRecord>('FirstFaultRecord', (schema, def) => {
  z.ZodRecord.init(schema, def)
  const parseAny = schema._zod.parse
  schema._zod.parse = (payload, context) => {
    const given: unknown = payload.value
    if (!z.core.util.isPlainObject(given)) return parseAny(payload, context)
    const entries: [string, unknown][] = []
    for (const entry of Object.entries(given)) {
      const result = settled(parseAny({ value: Object.fromEntries([entry]), issues: [] }, context))
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

function errorOf(params: Params | undefined): { readonly error?: () => string } {
  return params === undefined ? {} : { error: () => params.error }
}

function settled(result: Payload | Promise<Payload>): Payload {
  if (result instanceof Promise) throw new Error('a schema of a request body may not be asynchronous')
  return result
}
