import { isObject, parseJson } from '../../base/json.ts'
import type { JsonObject } from '../../contract/request.ts'
import type { ServerTool } from '../../contract/server-tool.ts'

/**
 * The arguments of a call, which models do not always write as an object. With `heals`, a text that is not JSON becomes the tool's main
 * parameter, and values get the types that the schema names; otherwise such a text is `raw`.
 */
export function readArguments(input: string, tool: Pick<ServerTool, 'parameters' | 'textParameter'>, heals: boolean): JsonObject {
  const value = parseJson(input)
  if (isObject(value)) return heals ? coerceMembers(value, tool.parameters) : value
  if (value === null || input.trim() === '') return {}
  const text = typeof value === 'string' ? value : input
  return heals ? { [textParameterOf(tool)]: text } : { raw: text }
}

/** A key that is equal for equal calls, in any order of arguments. */
export function callKey(name: string, args: JsonObject): string {
  return `${name} ${JSON.stringify(sorted(args))}`
}

/** The tool's own choice, or the only text that its schema requires. */
function textParameterOf({ parameters, textParameter }: Pick<ServerTool, 'parameters' | 'textParameter'>): string {
  if (textParameter !== undefined) return textParameter
  const required = Array.isArray(parameters.required) ? parameters.required : []
  const texts = required.filter((name) => typesOf(schemaOf(parameters, name)).includes('string'))
  return texts.length === 1 ? String(texts[0]) : 'query'
}

function coerceMembers(value: JsonObject, schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, coerce(member, schemaOf(schema, name))]))
}

function coerce(value: unknown, schema: JsonObject): unknown {
  const types = typesOf(schema)
  if (types.length === 0 || types.includes(typeOf(value)) || (types.includes('number') && typeof value === 'number'))
    return isObject(value) ? coerceMembers(value, schema) : value
  for (const type of types) {
    const made = convert(value, type)
    if (made !== undefined) return made
  }
  return value
}

/** Undefined if it cannot be converted. */
function convert(value: unknown, type: string): unknown {
  if (type === 'string') return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
  if (typeof value !== 'string') return undefined
  // Python writes True.
  const read = parseJson(type === 'boolean' ? value.toLowerCase() : value)
  return typeOf(read) === type || (type === 'number' && typeof read === 'number') ? read : undefined
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number' && Number.isInteger(value)) return 'integer'
  return typeof value
}

/** The types that a schema names; empty: any. */
function typesOf({ type }: JsonObject): readonly string[] {
  return [type].flat().filter((name) => typeof name === 'string')
}

function schemaOf({ properties }: JsonObject, name: unknown): JsonObject {
  const schema =
    isObject(properties) && typeof name === 'string' && Object.hasOwn(properties, name) ? properties[name] : undefined
  return isObject(schema) ? schema : {}
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  const names = Object.keys(value).sort()
  return Object.fromEntries(names.map((name) => [name, sorted(value[name])]))
}
