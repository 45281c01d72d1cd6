import type { z } from 'zod'
import { isObject } from '../../base/json.ts'
import { type FieldIndex, refuseValue } from './field-table.ts'
import { type KeyRules, keyRulesOf } from './first-fault.ts'

/** More names than the header has room for. */
const maxReported = 1000

type Found = { readonly ignored: Set<string>; readonly refused: FieldIndex }
/** Looks into a valid value. `index`: its position in the outermost list around it. */
type Look = (value: unknown, found: Found, index?: number) => void

/**
 * The unknown keys inside the objects of a body that the schema has accepted, as paths with `[]` for every index, each once. Throws
 * `unsupported-field` for those that the table refuses. The keys at the top are the field table's.
 *
 * The schema is read once, with the first body: for each body, only the keys of its objects remain to be listed.
 */
export function unknownKeys(schema: z.ZodObject<z.ZodRawShape>, refused: FieldIndex = new Map()): (body: unknown) => string[] {
  let members: ReturnType<typeof membersOf> | undefined
  return (body) => {
    members ??= membersOf(schema.shape, '')
    const found: Found = { ignored: new Set(), refused }
    if (isObject(body)) for (const name of Object.keys(body)) members.get(name)?.(body[name], found)
    return [...found.ignored]
  }
}

/** The keys of a body that has no field table which its schema does not have; null is as good as absent. */
export function unknownNames(schema: z.ZodObject<z.ZodRawShape>, body: object): string[] {
  return Object.entries(body).flatMap(([name, value]) => (value === null || Object.hasOwn(schema.shape, name) ? [] : [name]))
}

/** Undefined if nothing can be unknown: a list of a million numbers is not walked. */
function lookInto(schema: z.core.$ZodType, path: string): Look | undefined {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'optional':
    case 'nullable':
      return lookInto(def.innerType, path)
    // A transformation before or after what is looked into.
    case 'pipe':
      return lookInto(def.in, path) ?? lookInto(def.out, path)
    case 'object':
      return lookIntoObject(def.shape, keyRulesOf(schema), path)
    case 'array': {
      const look = lookInto(def.element, `${path}[]`)
      if (look === undefined) return undefined
      return (value, found, index) => {
        if (Array.isArray(value)) for (const [position, item] of value.entries()) look(item, found, index ?? position)
      }
    }
    case 'record': {
      const look = lookInto(def.valueType, `${path}.*`)
      if (look === undefined) return undefined
      return (value, found, index) => {
        if (isObject(value)) for (const item of Object.values(value)) look(item, found, index)
      }
    }
    case 'union':
      return lookIntoOneOf(leavesOf(schema), path)
    // Texts, numbers, and keys that callers choose freely.
    default:
      return undefined
  }
}

function membersOf(shape: z.core.$ZodShape, path: string): Map<string, Look | undefined> {
  const pathOf = (name: string) => (path === '' ? name : `${path}.${name}`)
  return new Map(Object.entries(shape).map(([name, member]) => [name, lookInto(member, pathOf(name))]))
}

function lookIntoObject(shape: z.core.$ZodShape, { also = [], reports }: KeyRules, path: string): Look | undefined {
  if (reports === 'never') return undefined
  const members = membersOf(shape, path)
  for (const name of also) members.set(name, undefined)
  return (value, found, index) => {
    if (!isObject(value) || reports?.(value) === false) return
    for (const name of Object.keys(value)) {
      const member = value[name]
      if (member === null) continue
      if (members.has(name)) members.get(name)?.(member, found, index)
      else reportUnknown(`${path}.${name}`, member, { found, index })
    }
  }
}

function reportUnknown(path: string, value: unknown, { found, index }: { found: Found; index: number | undefined }): void {
  const field = found.refused.get(path)
  if (field !== undefined) refuseValue(field, index === undefined ? path : path.replace('[]', `[${index}]`), value)
  else if (found.ignored.size < maxReported) found.ignored.add(path)
}

type Leaf = { readonly schema: z.core.$ZodType; readonly tag?: string }

/** The members of a union, including nested ones, each with the key that identifies it. */
function leavesOf(schema: z.core.$ZodType, tag?: string): Leaf[] {
  const { def } = (schema as z.core.$ZodTypes)._zod
  if (def.type !== 'union') return [{ schema, ...(tag !== undefined && { tag }) }]
  const own = 'discriminator' in def ? String(def.discriminator) : tag
  return def.options.flatMap((option) => leavesOf(option, own))
}

/** A list, an object whose tag is known, or another object. */
function lookIntoOneOf(leaves: readonly Leaf[], path: string): Look | undefined {
  let [list, other]: (Look | undefined)[] = []
  const tag = leaves.find((leaf) => leaf.tag !== undefined)?.tag ?? ''
  const tagged = new Map<unknown, Look | undefined>()
  for (const { schema } of leaves) {
    const look = lookInto(schema, path)
    const tags = schema._zod.propValues?.[tag]
    if (tags !== undefined) for (const value of tags) tagged.set(value, look)
    else if (look !== undefined && (schema as z.core.$ZodTypes)._zod.def.type === 'array') list = look
    else if (look !== undefined && other !== undefined) throw new Error(`${path}: two objects that no tag tells apart`)
    else other ??= look
  }
  if ([list, other, ...tagged.values()].every((look) => look === undefined)) return undefined
  return (value, found, index) => {
    if (Array.isArray(value)) list?.(value, found, index)
    else if (isObject(value)) {
      const kind = value[tag]
      const look = tagged.has(kind) ? tagged.get(kind) : other
      look?.(value, found, index)
    }
  }
}
