import type { FastifyRequest } from 'fastify'
import { providerDataHeader, readProviderData } from '../../dialect/llama-stack/provider-data.ts'
import type { SentKeys } from '../../responses/caller-keys.ts'

/** The keys in a request's header; undefined without one. Throws for a header that cannot be read. */
export function readSentKeys({ headers }: Pick<FastifyRequest, 'headers'>): SentKeys | undefined {
  if (headers[providerDataHeader] === undefined) return undefined
  const { callerKeys, ignored } = readProviderData(headers)
  return { place: providerDataHeader, ignored, ...(callerKeys !== undefined && { keys: callerKeys }) }
}
