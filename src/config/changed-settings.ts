import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../base/json.ts'

/** Settings and sections that a running server applies from a changed file; all others need a restart. */
const live = new Set([
  'server.apiKeys',
  'server.keyLimits',
  'server.keyGroups',
  'server.adminKey',
  'server.allowedHosts',
  'server.allowedOrigins',
  'server.drainDelayMs',
  'server.heartbeatMs',
  'server.shutdownGraceMs',
  'log.level',
  'models',
  'listings',
  'builtinModel',
  'limits',
  'memory',
  'runtimes',
  'sampling',
  'templates',
  'requestTemplates',
])

/** The settings that differ between two configurations, such as `server.port`, and need a restart. */
export function settingsForRestart(before: object, after: object): readonly string[] {
  return changedPaths(before, after).filter((path) => !live.has(path) && !live.has(path.split('.', 1)[0] ?? path))
}

/** A changed configuration for a running server: settings that need a restart keep their values. */
export function withoutRestart<Settings extends object>(before: Settings, after: Settings): Settings {
  const kept = { ...after } as Record<string, unknown>
  for (const path of settingsForRestart(before, after)) {
    const [section = '', name] = path.split('.')
    const old = memberOf(before, section)
    kept[section] = name === undefined ? old : { ...(kept[section] as object), [name]: memberOf(old as object, name) }
  }
  return kept as Settings
}

/** Sections are compared by their settings. */
function changedPaths(before: object, after: object, section = ''): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names].sort().flatMap((name) => {
    const [old, now] = [memberOf(before, name), memberOf(after, name)]
    if (isDeepStrictEqual(old, now)) return []
    return section === '' && isObject(old) && isObject(now) ? changedPaths(old, now, `${name}.`) : [`${section}${name}`]
  })
}

function memberOf(object: object, name: string): unknown {
  return (object as Record<string, unknown>)[name]
}
