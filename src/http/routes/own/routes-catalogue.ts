import type { FastifyInstance } from 'fastify'
import { encodeOffers } from '../../../dialect/own/encode-offers.ts'
import { decodeCatalogue } from '../../../dialect/own/queries.ts'
import type { Models } from '../../run/deps.ts'

/** The models that a load can fetch. */
export function addCatalogueRoute(app: FastifyInstance, { findOffers }: Models): void {
  if (findOffers === undefined) return
  app.get('/api/catalogue', { config: { scope: 'admin' } }, async (request) => {
    const { search } = decodeCatalogue(request.query)
    return encodeOffers(await findOffers(search))
  })
}
