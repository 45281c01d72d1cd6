import type { FoundModel } from '../../contract/server/lifecycle.ts'
import type { ModelOffers } from '../../contract/server/model-offers.ts'
import type { Search } from './messages.ts'

const mostResults = 25

/** The models that a search has found, those of exactly that name first. All are GGUF files. */
export function encodeSearch({ models, repositories }: ModelOffers, { searchTerm, limit, compatibilityTypes }: Search) {
  if (compatibilityTypes?.includes('gguf') === false) return { results: [] }
  const wanted = searchTerm?.trim().toLowerCase()
  const found = [
    ...models.map(({ name, title, isProposed }) => ({
      name: title,
      identifier: { type: 'catalog', identifier: name },
      exact: name.toLowerCase() === wanted || title.toLowerCase() === wanted,
      staffPick: isProposed,
    })),
    ...repositories.map(({ name }) => {
      const repository = name.replace(/^hf\.co\//, '')
      const exact = repository.toLowerCase() === wanted
      return { name: repository, identifier: { type: 'hf', identifier: repository }, exact, staffPick: false }
    }),
  ]
  const results = found.toSorted((a, b) => Number(b.exact) - Number(a.exact)).slice(0, limit ?? mostResults)
  return { results }
}

/** The files of a model, each with the name under which `downloadModel` fetches it. */
export function encodeOptions(identifier: string, { id, offers }: FoundModel) {
  const repository = /\/[^/:]+$/.test(identifier) ? identifier : undefined
  const results = (offers ?? []).flatMap(({ quantization, sizeBytes, fits, isProposed }) => {
    // A short name means one file.
    if (repository === undefined && !isProposed) return []
    const downloadIdentifier = repository === undefined ? identifier : `${repository}:${quantization}`
    return {
      quantization,
      name: `${id} ${quantization}`,
      sizeBytes,
      fitEstimation: fits ? 'fitWithoutGPU' : 'willNotFit',
      recommended: isProposed,
      downloadIdentifier,
      indexedModelIdentifier: downloadIdentifier,
    }
  })
  return { results }
}
