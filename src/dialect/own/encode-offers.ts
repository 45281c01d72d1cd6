import type { z } from 'zod'
import type { ModelOffers } from '../../contract/server/model-offers.ts'
import type { offers } from './replies.ts'

/** The reply of `GET /api/catalogue`. */
export function encodeOffers({ models, repositories, problem }: ModelOffers): z.input<typeof offers> {
  return {
    models: models.map(({ name, title, sizeBytes, trained, abilities, fits, isProposed }) => ({
      name,
      title,
      size_bytes: sizeBytes,
      max_context_length: trained,
      abilities: [...abilities],
      fits,
      proposed: isProposed,
    })),
    repositories: repositories.map(({ abilities, ...repository }) => ({ ...repository, abilities: [...abilities] })),
    ...(problem !== undefined && { problem }),
  }
}
