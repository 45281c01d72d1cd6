import { LruMap } from '../../base/lru-map.ts'
import { messageOf } from '../../contract/errors.ts'
import type { FindOffers, ModelOffers, OfferedModel, OfferedRepository } from '../../contract/server/model-offers.ts'
import { searchHub } from '../../registry/fetch/search-hub.ts'
import { catalogue } from '../../registry/names/catalogue.ts'
import { fitsMemory } from '../../registry/names/memory.ts'
import { type Machine, suggestModels } from '../../registry/names/suggested-models.ts'

const mostFound = 20
const responseTimeoutMs = 5000
/** Hugging Face counts what an address asks. */
const keptMs = 600_000
const mostKept = 200

type Options = {
  readonly machine: () => Promise<Machine>
  readonly env: Readonly<Record<string, string | undefined>>
  now(): number
}

type Searched = { readonly atMs: number; readonly repositories: readonly OfferedRepository[] }

/** Finds models in the catalogue, and for a text on Hugging Face; answers of Hugging Face are kept for ten minutes. */
export function createFindOffers({ machine, env, now }: Options): FindOffers {
  const searched = new LruMap<string, Searched>({ max: mostKept })
  // The machine stays the same while the server runs.
  let looking: Promise<Machine> | undefined
  const look = () => {
    looking ??= machine()
    return looking
  }
  const search = async (text: string): Promise<Pick<ModelOffers, 'repositories' | 'problem'>> => {
    const known = searched.get(text)
    if (known !== undefined && now() - known.atMs < keptMs) return { repositories: known.repositories }
    try {
      const found = await searchHub(text, { env, limit: mostFound, responseTimeoutMs })
      const repositories = found.map(({ id, downloads, likes, reads = '' }) => ({
        name: `hf.co/${id}`,
        downloads,
        likes,
        abilities: reads.includes('images') ? (['vision'] as const) : [],
      }))
      searched.set(text, { atMs: now(), repositories })
      return { repositories }
    } catch (error) {
      return { repositories: [], problem: messageOf(error) }
    }
  }
  return async (text) => {
    const wanted = text.trim().toLowerCase()
    const found = wanted === '' ? { repositories: [] } : await search(wanted)
    const words = wanted.split(/\s+/)
    const models = offered(await look()).filter(({ name, title }) =>
      words.every((word) => `${name} ${title}`.toLowerCase().includes(word)),
    )
    return { models, ...found }
  }
}

function offered(machine: Machine): readonly OfferedModel[] {
  const best = suggestModels(machine)[0]?.shortName
  return catalogue.map(({ shortName, name, sizeBytes, trained, abilities }) => ({
    name: shortName,
    title: name,
    sizeBytes,
    trained,
    abilities,
    fits: fitsMemory(sizeBytes, machine.memoryBytes),
    isProposed: shortName === best,
  }))
}
