import { AppError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/request.ts'
import { preview } from '../wire/preview.ts'
import type { WireParameter } from './schema.ts'

/** Python's names of types, and JSON Schema's own. */
const typeNames: Readonly<Record<string, string>> = {
  int: 'integer',
  float: 'number',
  bool: 'boolean',
  str: 'string',
  list: 'array',
  dict: 'object',
  integer: 'integer',
  number: 'number',
  boolean: 'boolean',
  string: 'string',
  array: 'array',
  object: 'object',
  null: 'null',
}
const listPattern = /^(?:list|array)\[(.+)\]$/
/** No program has types that are nested more deeply. */
const maxDepth = 16

/** The JSON Schema of a tool's parameters, at a path such as `tools[0].parameters`. Throws for an unknown type. */
export function toJsonSchema(parameters: Readonly<Record<string, WireParameter>>, path: string): JsonObject {
  const entries = Object.entries(parameters)
  const required = entries.filter(([, parameter]) => parameter.required ?? true).map(([name]) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(
      entries.map(([name, parameter]) => [name, propertyOf(parameter, `${path}.${name}.param_type`)] as const),
    ),
    ...(required.length > 0 && { required }),
  }
}

function propertyOf({ param_type, description, default: fallback }: WireParameter, path: string): JsonObject {
  return {
    ...typeSchema(param_type.trim(), path),
    ...(typeof description === 'string' && { description }),
    // 0, false and "" are values.
    ...(fallback !== undefined && fallback !== null && { default: fallback }),
  }
}

function typeSchema(type: string, path: string, depth = 0): JsonObject {
  const item = depth < maxDepth ? listPattern.exec(type)?.[1] : undefined
  if (item !== undefined) return { type: 'array', items: typeSchema(item.trim(), path, depth + 1) }
  const known = Object.hasOwn(typeNames, type) ? typeNames[type] : undefined
  if (known !== undefined) return { type: known }
  const message = `${path}: expected one of ${Object.keys(typeNames).join(', ')}, or list[TYPE], got ${preview(type)}`
  throw new AppError('invalid-request', message, { param: path })
}
