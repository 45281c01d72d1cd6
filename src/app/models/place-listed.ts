import { isDeepStrictEqual } from 'node:util'
import type { ConfiguredModel } from '../../config/models.ts'
import { builtinModel } from '../../registry/names/builtin-model.ts'
import type { Registered } from './create-model.ts'

type Placing = {
  /** Those of the set until now; listed ones among them keep their engines. */
  readonly before: readonly Registered[]
  /** In the order of the servers; of two with one name, the first has it. */
  readonly listed: readonly ConfiguredModel[]
  create(config: ConfiguredModel): Registered
}

/** Models with those that servers list; `hidden`: ids that are not there, because another model has the name. */
type Placed = { readonly models: readonly Registered[]; readonly hidden: readonly string[] }

export function isListed({ config }: Pick<Registered, 'config'>): boolean {
  return config?.listed !== undefined
}

/** Adds listed models to those that are not. Names of others win; the built-in model stays last, as it is nobody's first choice. */
export function placeListed(others: readonly Registered[], { before, listed, create }: Placing): Placed {
  const known = new Map(before.filter(isListed).map((model) => [model.id, model]))
  const taken = new Set(others.flatMap(({ id, aliases }) => [id, ...aliases]))
  const hidden: string[] = []
  const chosen: ConfiguredModel[] = []
  for (const config of listed) {
    if (taken.has(config.id)) hidden.push(config.id)
    else chosen.push(config)
    taken.add(config.id)
  }
  const placed = chosen.map((config) => {
    // After all ids, which win over aliases.
    const free = config.aliases.filter((alias) => !taken.has(alias) && taken.add(alias) === taken)
    return keepOrCreate({ ...config, aliases: free }, known.get(config.id), create)
  })
  const end = others.findIndex(({ id }) => id === builtinModel.id)
  return { models: others.toSpliced(end === -1 ? others.length : end, 0, ...placed), hidden }
}

/** The model as it is; or its engine, under what the list says now; or a new one, when its settings have changed. */
function keepOrCreate(config: ConfiguredModel, old: Registered | undefined, create: Placing['create']): Registered {
  if (old?.config === undefined || !isDeepStrictEqual(settingsOf(old.config), settingsOf(config))) return create(config)
  if (isDeepStrictEqual(old.config, config)) return old
  return { ...old, aliases: config.aliases, config }
}

function settingsOf({ aliases: _a, listed: _l, ...settings }: ConfiguredModel): object {
  return settings
}
