import { matchesPattern } from './name-pattern.ts'

/** The names of a model: its id, and aliases in which `*` matches any text. */
export type ModelNames = { readonly id: string; readonly aliases: readonly string[] }

/** A name that an earlier model has, or that one model has twice. */
type NameConflict = {
  /** The position of the model in the list, and the path of the name inside it. */
  readonly index: number
  readonly key: readonly ['id'] | readonly ['aliases', number]
  readonly message: string
}

/** Finds every id and alias that is used twice, by two models or by one. */
export function findNameConflicts(models: readonly ModelNames[]): NameConflict[] {
  const conflicts: NameConflict[] = []
  const owners = new Map<string, string>()
  // Ids first: they win over aliases, so an alias that equals any id could never be reached.
  for (const [index, { id }] of models.entries()) {
    if (owners.has(id)) conflicts.push({ index, key: ['id'], message: `two models have the id '${id}'; rename one` })
    owners.set(id, id)
  }
  for (const [index, { id, aliases }] of models.entries()) {
    for (const [position, alias] of aliases.entries()) {
      const owner = owners.get(alias)
      owners.set(alias, owner ?? id)
      if (owner === undefined) continue
      const message = `'${alias}' is already a name of the model '${owner}'; a name must belong to one model`
      conflicts.push({ index, key: ['aliases', position], message })
    }
  }
  return conflicts
}

/** Ollama's default tag: its clients write `NAME:latest` for `NAME`. */
const defaultTag = ':latest'

/**
 * Finds the model for a name: (1) an exact id, (2) an exact alias, (3) both without Ollama's default tag, (4) the pattern with the most
 * literal characters; among equals the first in the list.
 */
export function pickByName<Model extends ModelNames>(models: readonly Model[], name: string): Model | undefined {
  const untagged = name.endsWith(defaultTag) ? name.slice(0, -defaultTag.length) : undefined
  const exact = findExactly(models, name) ?? (untagged === undefined ? undefined : findExactly(models, untagged))
  if (exact !== undefined) return exact
  let best: { model: Model; literals: number } | undefined
  for (const model of models) {
    for (const alias of model.aliases) {
      const literals = alias.replaceAll('*', '').length
      if (alias.includes('*') && literals > (best?.literals ?? -1) && matchesPattern(alias, name)) best = { model, literals }
    }
  }
  return best?.model
}

function findExactly<Model extends ModelNames>(models: readonly Model[], name: string): Model | undefined {
  return models.find(({ id }) => id === name) ?? models.find(({ aliases }) => aliases.includes(name))
}

/** The name, in the letters that a model has. As it is where no model has it. */
export function spelledAs(models: readonly ModelNames[], name: string): string {
  if (findExactly(models, name) !== undefined) return name
  const all = models.flatMap(({ id, aliases }) => [id, ...aliases])
  const wanted = name.trim().toLowerCase()
  const spellings = [wanted, ...(wanted.endsWith(defaultTag) ? [wanted.slice(0, -defaultTag.length)] : [])]
  for (const spelling of spellings) {
    const found = all.find((one) => one.toLowerCase() === spelling)
    if (found !== undefined) return found
  }
  return name
}
