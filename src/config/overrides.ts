import { isObject } from '../base/json.ts'
import type { ConfigPath } from './document.ts'

/** A value set by a flag or an environment variable; `origin` names it in messages. */
export type Override = {
  readonly path: readonly [section: string, key: string]
  readonly value: unknown
  /** `--port` or `DRAGOMAN_PORT`. */
  readonly origin: string
}

type Texts = Readonly<Record<string, string | undefined>>

type Setting = {
  readonly path: Override['path']
  readonly flag?: string
  readonly variable: string
  readonly read: (text: string) => unknown
}

const asText = (text: string) => text

/** Other texts stay texts, which the schema rejects as in the file. */
const asNumber = (text: string) => (/^\d+$/.test(text) ? Number(text) : text)

/** `a.example, b.example` */
const asList = (text: string) => text.split(',').flatMap((part) => part.trim() || [])

/** Every setting that can be given outside the file. */
const settings: readonly Setting[] = [
  { path: ['server', 'host'], flag: 'host', variable: 'DRAGOMAN_HOST', read: asText },
  { path: ['server', 'port'], flag: 'port', variable: 'DRAGOMAN_PORT', read: asNumber },
  { path: ['server', 'workers'], flag: 'workers', variable: 'DRAGOMAN_WORKERS', read: asNumber },
  { path: ['server', 'apiKeys'], variable: 'DRAGOMAN_API_KEY', read: (text) => [text] },
  { path: ['server', 'adminKey'], variable: 'DRAGOMAN_ADMIN_KEY', read: asText },
  { path: ['server', 'allowedHosts'], variable: 'DRAGOMAN_ALLOWED_HOSTS', read: asList },
  { path: ['storage', 'database'], variable: 'DRAGOMAN_STORAGE', read: asText },
  { path: ['log', 'level'], flag: 'log-level', variable: 'DRAGOMAN_LOG_LEVEL', read: asText },
]

/** Collects the values set by flags and environment; a flag wins. The keys of `flags` are flag names without dashes. */
export function collectOverrides(flags: Texts, env: Texts): Override[] {
  return settings.flatMap(({ path, flag, variable, read }): Override[] => {
    const flagText = flag === undefined ? undefined : flags[flag]
    if (flagText !== undefined) return [{ path, value: read(flagText), origin: `--${flag}` }]
    // Container files unset a variable by emptying it.
    const text = env[variable] ?? ''
    return text === '' ? [] : [{ path, value: read(text), origin: variable }]
  })
}

/** Sets the values in a parsed file. A section that is not a mapping is left for the schema to reject. */
export function applyOverrides(raw: unknown, overrides: readonly Override[]): unknown {
  if (!isObject(raw)) return raw
  const result = { ...raw }
  for (const { path, value } of overrides) {
    const [section, key] = path
    const isShort = section === 'storage' && typeof result[section] === 'string'
    const current = isShort ? {} : (result[section] ?? {})
    if (isObject(current)) result[section] = { ...current, [key]: value }
  }
  return result
}

/** The override that set the value at this path. */
export function findOverride(overrides: readonly Override[], path: ConfigPath): Override | undefined {
  return overrides.find((override) => override.path.every((key, index) => path[index] === key))
}
