import { z } from 'zod'

// The only file that overrides Zod's internals: `z.core.$constructor`, `_zod.parse` and `_zod.run`. Zod has no public option
// that stops at the first issue, and its own arrays and records report every one: a body of a few megabytes with a million bad
// elements would cost a million issues. Checked with Zod 4.6.7; after an update, first-fault.test.ts shows whether the overrides
// still take effect.

type Params = { readonly error: string }
type Payload = z.core.ParsePayload

/**
 * `z.array` that stops at the first bad element and reports only that one, so that the work for an error does not grow with a
 * hostile body.
 */
export function list<T extends z.ZodType>(element: T, params?: Params): z.ZodArray<T> {
  return new FirstFaultArray({ type: 'array', element, ...errorOf(params) }) as z.ZodArray<T>
}

/** `z.record` that stops at the first bad entry and reports only that one. */
export function dictionary<V extends z.ZodType>(key: z.ZodString, value: V): z.ZodRecord<z.ZodString, V> {
  return new FirstFaultRecord({ type: 'record', keyType: key, valueType: value }) as z.ZodRecord<z.ZodString, V>
}

const FirstFaultArray = z.core.$constructor<z.ZodArray>('FirstFaultArray', (schema, def) => {
  z.ZodArray.init(schema, def)
  const parseWithZod = schema._zod.parse
  schema._zod.parse = (payload, context) => {
    const given: unknown = payload.value
    if (!Array.isArray(given)) return parseWithZod(payload, context)
    const items: unknown[] = []
    for (const [index, value] of given.entries()) {
      const result = requireSync(def.element._zod.run({ value, issues: [] }, context))
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
  const parseWithZod = schema._zod.parse
  schema._zod.parse = (payload, context) => {
    const given: unknown = payload.value
    if (!z.core.util.isPlainObject(given)) return parseWithZod(payload, context)
    const entries: [string, unknown][] = []
    for (const entry of Object.entries(given)) {
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

function errorOf(params: Params | undefined): { readonly error?: () => string } {
  return params === undefined ? {} : { error: () => params.error }
}

function requireSync(result: Payload | Promise<Payload>): Payload {
  if (result instanceof Promise) throw new Error('a schema of a request body must be synchronous')
  return result
}
