import type { ConfigPath } from './document.ts'

/** A single value that a flag or a variable sets, and what to call it when it is wrong. */
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

/** What is no number stays a text, so that the schema refuses it like one from the file. */
const asNumber = (text: string) => (/^\d+$/.test(text) ? Number(text) : text)

/** Every setting that can be given outside the file. */
const settings: readonly Setting[] = [
  { path: ['server', 'host'], flag: 'host', variable: 'DRAGOMAN_HOST', read: asText },
  { path: ['server', 'port'], flag: 'port', variable: 'DRAGOMAN_PORT', read: asNumber },
  { path: ['server', 'apiKeys'], variable: 'DRAGOMAN_API_KEY', read: (text) => [text] },
  { path: ['log', 'level'], flag: 'log-level', variable: 'DRAGOMAN_LOG_LEVEL', read: asText },
]

/** Picks the values that flags and environment set; a flag wins. `flags` has the flags' names without the dashes. */
export function collectOverrides(flags: Texts, env: Texts): Override[] {
  return settings.flatMap(({ path, flag, variable, read }): Override[] => {
    const flagText = flag === undefined ? undefined : flags[flag]
    if (flagText !== undefined) return [{ path, value: read(flagText), origin: `--${flag}` }]
    // An empty variable is how container files unset one.
    const text = env[variable] ?? ''
    return text === '' ? [] : [{ path, value: read(text), origin: variable }]
  })
}

/** Puts the values into a parsed file. A section that is no mapping stays as it is: the schema then says so. */
export function applyOverrides(raw: unknown, overrides: readonly Override[]): unknown {
  if (!isMapping(raw)) return raw
  const result = { ...raw }
  for (const { path, value } of overrides) {
    const [section, key] = path
    const current = result[section] ?? {}
    if (isMapping(current)) result[section] = { ...current, [key]: value }
  }
  return result
}

/** The override that a problem at this path is about. */
export function findOverride(overrides: readonly Override[], path: ConfigPath): Override | undefined {
  return overrides.find((override) => override.path.every((key, index) => path[index] === key))
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
