import type { ModelConfig } from './schema.ts'
import { addressOf, type ListingConfig } from './sections/listing-schema.ts'

type Served = {
  readonly workers: number
  readonly models: readonly ModelConfig[]
  readonly listings: readonly ListingConfig[]
  readonly modelsFolder: string | undefined
}

/** Why a configuration cannot be served by several processes. */
export function findUnshared({ workers, models, listings, modelsFolder }: Served): readonly string[] {
  if (workers === 1) return []
  const folder = `server.workers ${workers} needs models that are remote, and those of modelsFolder are not: leave one of them out`
  return [
    ...(modelsFolder === undefined ? [] : [folder]),
    ...models.flatMap(({ id, engine, slots }) => {
      if (engine !== 'remote' && engine !== 'fake') {
        const advice = 'set it to 1, or run that model in a server of its own and name it as a `remote` one'
        return [
          `server.workers ${workers} needs models that are remote, but '${id}' runs on ${engine}, in one process: ${advice}`,
        ]
      }
      return tooFewSlots(id, { slots, workers })
    }),
    ...listings.flatMap((listing) => tooFewSlots(addressOf(listing), { slots: listing.slots, workers })),
  ]
}

function tooFewSlots(name: string, { slots, workers }: { readonly slots: number; readonly workers: number }): readonly string[] {
  if (slots >= workers) return []
  return [`server.workers ${workers}: each process needs a slot of each model, but '${name}' has ${slots}: raise its slots`]
}
