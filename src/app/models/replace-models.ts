import { isDeepStrictEqual } from 'node:util'
import type { LoadedConfig } from '../../config/load.ts'
import type { ConfiguredModel } from '../../config/models.ts'
import { limitsOf } from '../../config/sections/limits-schema.ts'
import { AppError } from '../../contract/errors.ts'
import { findNameConflicts } from '../../registry/names/aliases.ts'
import { othersOf, type Registered } from './create-model.ts'

/** The models of a configuration, and the limits of those without their own. */
type Configured = Pick<LoadedConfig, 'models' | 'limits'>

/** Two configurations, one after the other. */
export type ModelChanges = {
  readonly before: Configured
  readonly after: Configured
  create(config: ConfiguredModel): Registered
}

/**
 * The models of a server after a change of its configuration. Those with the same settings stay, loaded or not, even with other names,
 * limits and endpoints; those from outside the configuration stay, too. Throws `invalid-request`, before anything is created, if one of the
 * latter has a name that the configuration gives to another.
 */
export function replaceModels(models: readonly Registered[], { before, after, create }: ModelChanges): readonly Registered[] {
  const known = new Map(before.models.map((config) => [config.id, config]))
  const added = new Set(after.models.map(({ id }) => id))
  const others = models.filter(({ id }) => !known.has(id) && !added.has(id))
  const conflicts = findNameConflicts([...after.models, ...others])
  if (conflicts.length > 0) throw new AppError('invalid-request', conflicts.map(({ message }) => message).join('; '))
  const moves: (() => void)[] = []
  const configured = after.models.flatMap((config) => {
    const old = known.get(config.id)
    if (old === undefined || !isDeepStrictEqual(settingsOf(old), settingsOf(config))) return [create(config)]
    const model = models.find(({ id }) => id === config.id)
    // An operator may have removed it.
    if (model === undefined) return []
    if (config.engine === 'remote' && old.engine === 'remote' && !isDeepStrictEqual(old.endpoints, config.endpoints))
      moves.push(model.follow?.(config) ?? (() => undefined))
    const isSame = isDeepStrictEqual([old, before.limits], [config, after.limits])
    return [isSame ? model : withNames(model, config, after.limits)]
  })
  // Once nothing can fail any more.
  for (const move of moves) move()
  return [...configured, ...others]
}

/** The settings that an engine is made from. The endpoints of a remote one can change while it runs. */
function settingsOf({
  aliases: _a,
  load: _l,
  required: _r,
  standIn: _s,
  limits: _m,
  chat: _c,
  fallback: _f,
  mirror: _i,
  ...settings
}: ConfiguredModel): object {
  return settings.engine === 'remote' ? { ...settings, endpoints: [], versions: undefined } : settings
}

/** The same engine and queue under other names and limits, and with other fallbacks. */
function withNames(model: Registered, config: ConfiguredModel, limits: LoadedConfig['limits']): Registered {
  const { aliases, load, required, standIn } = config
  const { chat: _c, fallback: _f, versions: _v, mirror: _m, ...kept } = model
  return {
    ...kept,
    ...othersOf(config),
    aliases,
    loadsAtStart: load === 'start',
    required,
    standIn,
    config,
    limits: limitsOf(limits, config.limits),
    get isAwaitingFile() {
      return model.isAwaitingFile
    },
  }
}
