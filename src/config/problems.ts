import type { z } from 'zod'
import { isObject } from '../base/json.ts'
import { didYouMean } from '../registry/names/near-name.ts'
import type { ConfigPath } from './document.ts'
import { configJsonSchema } from './schema.ts'

export type ConfigProblem = { readonly path: ConfigPath; readonly message: string }

type JsonSchema = z.core.JSONSchema.JSONSchema

export function describeIssues(issues: readonly z.core.$ZodIssue[], value: unknown): ConfigProblem[] {
  return issues.flatMap((issue) => describeIssue(issue, [], value))
}

/** Formats `['models', 0, 'id']` as `models[0].id`. */
export function formatPath(path: ConfigPath): string {
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('')
  return text.replace(/^\./, '')
}

function describeIssue(issue: z.core.$ZodIssue, parent: ConfigPath, root: unknown): ConfigProblem[] {
  const path = [...parent, ...issue.path]
  const found = valueAt(root, path)
  if (issue.code === 'unrecognized_keys') {
    const known = knownKeys(path, root)
    return issue.keys.map((key) => ({ path: [...path, key], message: unknownKey(key, known) }))
  }
  if (issue.code !== 'custom' && found === undefined) return [{ path, message: 'is missing' }]
  if (issue.code === 'invalid_union' && 'options' in issue && Array.isArray(issue.options)) {
    return [{ path, message: oneOf(issue.options, { found, path }) }]
  }
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    // Reports the issues of the branch that accepts this type of value, which is the intended one.
    const possible = issue.errors.filter(
      (branch) => !branch.some(({ code, path: at }) => code === 'invalid_type' && at.length === 0),
    )
    const meant = isListing(found) ? possible.at(-1) : possible[0]
    if (meant !== undefined) return meant.flatMap((inner) => describeIssue(inner, path, root))
    const kinds = issue.errors.flat().map((inner) => ('expected' in inner ? String(inner.expected) : inner.message))
    return [{ path, message: `must be one of: ${kinds.join(', ')}${quote(found, path)}` }]
  }
  if (issue.code === 'invalid_key') return [{ path, message: issue.issues[0]?.message ?? issue.message }]
  if (issue.code === 'custom') return [{ path, message: issue.message }]
  if (issue.code === 'invalid_value') return [{ path, message: oneOf(issue.values, { found, path }) }]
  return [{ path, message: `${inWords(issue)}${quote(found, path)}` }]
}

/** An entry of `models` for a server whose models are all served; the last branch of its union. */
function isListing(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'from' in value && !('id' in value)
}

/** The usual mistakes, in plain words. */
function inWords(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') {
    const { expected } = issue
    return `must be ${expected === 'int' ? 'a whole number' : /^[aeiou]/.test(expected) ? `an ${expected}` : `a ${expected}`}`
  }
  if (issue.code === 'too_big' && typeof issue.maximum === 'number' && issue.origin !== 'string') {
    return `must be at most ${issue.maximum}`
  }
  if (issue.code === 'too_small' && typeof issue.minimum === 'number' && ['number', 'int'].includes(issue.origin)) {
    return `must be ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}`
  }
  return issue.message
}

function oneOf(values: readonly unknown[], { found, path }: { found: unknown; path: ConfigPath }): string {
  const names = values.map(String)
  return `must be one of: ${names.join(', ')}${quote(found, path)}${didYouMean(found, names)}`
}

function unknownKey(key: string, known: readonly string[]): string {
  return `unknown key '${key}'${didYouMean(key, known) || `; known keys: ${known.join(', ')}`}`
}

/** Quotes a short value, unless it is an API key. */
function quote(found: unknown, path: ConfigPath): string {
  if (path.includes('apiKeys') || path.includes('adminKey') || found === null || typeof found === 'object') return ''
  const text = JSON.stringify(found)
  return text.length > 100 ? '' : `, got ${text}`
}

/** The keys that are allowed at a path, in the variant of each union that the value selects. */
function knownKeys(path: ConfigPath, root: unknown): string[] {
  const whole: JsonSchema = configJsonSchema()
  let schema: JsonSchema | undefined = whole
  let value = root
  for (const key of path) {
    const next: z.core.JSONSchema._JSONSchema | z.core.JSONSchema._JSONSchema[] | undefined =
      typeof key === 'number' ? schema?.items : (schema?.properties?.[String(key)] ?? schema?.additionalProperties)
    if (typeof next !== 'object' || Array.isArray(next)) return []
    value = valueAt(value, [key])
    schema = variantsOf(next, whole).find((variant) => isVariantOf(variant, value))
  }
  return Object.keys(schema?.properties ?? {})
}

function variantsOf(schema: z.core.JSONSchema._JSONSchema, whole: JsonSchema): JsonSchema[] {
  if (typeof schema !== 'object') return []
  const shared = whole.$defs?.[schema.$ref?.replace('#/$defs/', '') ?? '']
  if (shared !== undefined) return [shared]
  return (schema.anyOf ?? schema.oneOf)?.flatMap((each) => variantsOf(each, whole)) ?? [schema]
}

function isVariantOf(schema: JsonSchema, value: unknown): boolean {
  if ((schema.type === 'array') !== Array.isArray(value)) return false
  if (schema.type === 'string' && isObject(value)) return false
  const { from, engine } = schema.properties ?? {}
  if (isListing(value) ? engine !== undefined : from !== undefined) return false
  return Object.entries(schema.properties ?? {}).every(([key, property]) => {
    if (typeof property !== 'object' || property.const === undefined) return true
    const found = valueAt(value, [key])
    return found === property.const || (found === undefined && schema.required?.includes(key) !== true)
  })
}

function valueAt(root: unknown, path: ConfigPath): unknown {
  let value = root
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = Object.getOwnPropertyDescriptor(value, key)?.value
  }
  return value
}
