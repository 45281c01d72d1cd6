import type { Forwarded } from '../../contract/request.ts'

/** The fields of OpenAI's protocols that only the server behind a model can use. */
type ForwardedWire = {
  readonly user?: string | null | undefined
  readonly safety_identifier?: string | null | undefined
  readonly service_tier?: string | null | undefined
  readonly prompt_cache_key?: string | null | undefined
  readonly prompt_cache_retention?: string | null | undefined
  readonly metadata?: { readonly [key: string]: string } | null | undefined
}

/** The fields of a body that are passed on; an empty object for most. */
export function decodeForwarded(wire: ForwardedWire): { readonly forwarded?: Forwarded } {
  const forwarded: Forwarded = {
    ...(typeof wire.user === 'string' && { user: wire.user }),
    ...(typeof wire.safety_identifier === 'string' && { safetyIdentifier: wire.safety_identifier }),
    ...(typeof wire.service_tier === 'string' && { serviceTier: wire.service_tier }),
    ...(typeof wire.prompt_cache_key === 'string' && { promptCacheKey: wire.prompt_cache_key }),
    ...(typeof wire.prompt_cache_retention === 'string' && { promptCacheRetention: wire.prompt_cache_retention }),
    ...(typeof wire.metadata === 'object' && wire.metadata !== null && { metadata: wire.metadata }),
  }
  return Object.keys(forwarded).length > 0 ? { forwarded } : {}
}
