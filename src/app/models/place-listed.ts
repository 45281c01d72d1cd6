import { isDeepStrictEqual } from 'node:util'
import type { ConfiguredModel } from '../../config/models.ts'
import { builtinModel } from '../../registry/names/builtin-model.ts'
import type { Registered } from './create-model.ts'

type Placing = {
  /** The models of the set so far; listed ones keep their engines. */
  readonly before: readonly Registered[]
  /** In the order of the servers; the first of two with one name wins. */
  readonly listed: readonly ConfiguredModel[]
  create(config: ConfiguredModel): Registered
}

/** The models with those that servers list; `hidden`: ids whose name another model has. */
type Placed = { readonly models: readonly Registered[]; readonly hidden: readonly string[] }

export function isListed({ config }: Pick<Registered, 'config'>): boolean {
  return config?.listed !== undefined
}

/** Adds listed models to the others, whose names win; the built-in model stays last, as it is nobody's first choice. */
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

/** The unchanged model; or its engine with the list's new facts; or a new one, if its settings have changed. */
function keepOrCreate(config: ConfiguredModel, old: Registered | undefined, create: Placing['create']): Registered {
  if (old?.config === undefined || !isDeepStrictEqual(settingsOf(old.config), settingsOf(config))) return create(config)
  if (isDeepStrictEqual(old.config, config)) return old
  return { ...old, aliases: config.aliases, config }
}

function settingsOf({ aliases: _a, listed: _l, ...settings }: ConfiguredModel): object {
  return settings
}
