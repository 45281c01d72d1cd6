import { type FieldIndex, refuseValue } from '../wire/field-table.ts'
import {
  type CommonWire,
  jsonSchemaFormat,
  responseFormats,
  streamOptionsObject,
  structuredOutputsObject,
} from './common-schema.ts'

/** More names than the header has room for. */
const maxReported = 1000

/** The keys that a schema defines. */
export type Keys = ReadonlySet<string>

/** The path of an object, with `[]` for every index, and the first of these indices. */
type JsonPath = { readonly path: string; readonly index?: number }

/**
 * Collects the unknown fields inside the objects of a body, as paths without indices, each once. `check` throws
 * `unsupported-field` for those that the table refuses.
 */
export type NestedCheck = {
  readonly ignored: ReadonlySet<string>
  check(object: object | null | undefined, known: Keys, at: JsonPath): void
}

export function createNestedCheck(refused: FieldIndex): NestedCheck {
  const ignored = new Set<string>()
  return {
    ignored,
    check(object, known, { path, index }) {
      if (object === undefined || object === null) return
      for (const name of Object.keys(object)) {
        if (known.has(name)) continue
        const value: unknown = Reflect.get(object, name)
        if (value === null) continue
        const fieldPath = `${path}.${name}`
        const field = refused.get(fieldPath)
        if (field !== undefined)
          refuseValue(field, index === undefined ? fieldPath : fieldPath.replace('[]', `[${index}]`), value)
        else if (ignored.size < maxReported) ignored.add(fieldPath)
      }
    },
  }
}

/** The keys of an object schema. */
export function keysOf(schema: { readonly shape: object }): Keys {
  return new Set(Object.keys(schema.shape))
}

const streamOptionsKeys = keysOf(streamOptionsObject)
const structuredOutputsKeys = keysOf(structuredOutputsObject)
const jsonSchemaKeys = keysOf(jsonSchemaFormat)
const formatKeys: Readonly<Record<keyof typeof responseFormats, Keys>> = {
  text: keysOf(responseFormats.text),
  json_object: keysOf(responseFormats.json_object),
  json: keysOf(responseFormats.json),
  json_schema: keysOf(responseFormats.json_schema),
  regex: keysOf(responseFormats.regex),
  grammar: keysOf(responseFormats.grammar),
}

/** Checks the nested objects that both protocols share. */
export function checkCommonNested({ check }: NestedCheck, wire: CommonWire): void {
  const { stream_options, structured_outputs, response_format } = wire
  check(stream_options, streamOptionsKeys, { path: 'stream_options' })
  check(structured_outputs, structuredOutputsKeys, { path: 'structured_outputs' })
  if (!response_format) return
  check(response_format, formatKeys[response_format.type], { path: 'response_format' })
  // Without a wrapper the object is a JSON Schema, whose keywords the grammar checks.
  if (response_format.type !== 'json_schema' || (response_format.json_schema.schema ?? undefined) === undefined) return
  check(response_format.json_schema, jsonSchemaKeys, { path: 'response_format.json_schema' })
}
