import type { FastifyReply, FastifyRequest } from 'fastify'
import type { KeyQuota, LimitState } from '../../contract/quota.ts'
import { encodeOpenaiLimits } from '../../dialect/openai/limit-headers.ts'

/** The headers about limits, in the form of one protocol. `nowMs` is the time of the epoch. */
export type EncodeLimits = (states: readonly LimitState[], nowMs: number) => Readonly<Record<string, string>>

/** What is left of the limits of a key; absent: no key has limits. */
export type LimitReader = { readLimits?(quota: KeyQuota): readonly LimitState[] }

/** Adds the headers about the limits of a request's key. None are added without a limit. */
export function addLimitHeaders({ readLimits }: LimitReader, request: FastifyRequest, reply: FastifyReply): void {
  const { principal, routeOptions } = request
  if (principal?.quota === undefined || readLimits === undefined) return
  const encode = routeOptions.config.encodeLimits?.(request) ?? encodeOpenaiLimits
  reply.headers(encode(readLimits(principal.quota), Date.now()))
}
