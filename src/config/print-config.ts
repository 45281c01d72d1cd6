import { stringify } from 'yaml'
import { builtinModel } from '../registry/names/builtin-model.ts'
import { formatSource, type Source } from '../registry/names/sources.ts'
import type { LoadedConfig } from './load.ts'

const masked = '***'

/** Keys whose texts are secrets; `apiKeyEnv` is the name of a variable. */
const secretKeys = /^(key|apiKeys?|adminKey|.*(password|secret|token))$/i

/** The effective settings as a configuration file, with absolute paths and without secrets. */
export function printConfig({ models, listings, home: _, ...settings }: LoadedConfig): string {
  // Versions are printed within their models, and the built-in model as `builtinModel`.
  const own = models.filter(({ id, versionOf }) => versionOf === undefined && !(settings.builtinModel && id === builtinModel.id))
  const entries = own.map(({ standIn: _s, listed: _l, versionOf: _v, ...model }) => model)
  return stringify(written({ ...settings, models: [...entries, ...listings] }), { lineWidth: 0, aliasDuplicateObjects: false })
}

function written(value: unknown, key = ''): unknown {
  if (secretKeys.test(key) && value !== undefined) return Array.isArray(value) ? value.map(maskKey) : masked
  // Programs get their tokens through their environment.
  if (key === 'env' && typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.keys(value).map((name) => [name, masked]))
  }
  if (Array.isArray(value)) return value.map((item) => written(item))
  if (typeof value === 'string') return withoutPassword(value)
  if (typeof value !== 'object' || value === null) return value
  if (isSource(value)) return formatSource(value)
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, written(inner, name)]))
}

/** A key may be a text, or have settings beside it. */
function maskKey(key: unknown): unknown {
  return typeof key === 'object' && key !== null ? { ...(written(key) as object), key: masked } : masked
}

function withoutPassword(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/[^/@:\s]*):[^/@\s]*@/i, `$1:${masked}@`)
}

function isSource(value: object): value is Source {
  return 'type' in value && ['path', 'hf', 'hf-repository', 'url', 'wheel'].includes(String(value.type))
}
