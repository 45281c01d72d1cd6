import { hasMedia } from '../../canonical/parts.ts'
import type { RequestContext } from '../../contract/context.ts'
import { AppError } from '../../contract/errors.ts'
import type { GenerationRequest, GenerationRequests } from '../../contract/request.ts'
import type { ServedModel } from '../../contract/served-model.ts'
import { conversationShare } from './conversation-share.ts'
import type { OtherModels } from './other-models.ts'

/** A copy of a request for another model; its reply is discarded. */
export type MirroredCopy = { readonly requests: GenerationRequests; readonly context: RequestContext; stop(): void }

/** Copies are charged to no key. */
const mirror = { id: 'mirror', scopes: new Set<never>() }

/**
 * The mirrored copy of a request; undefined: none is made. It waits behind all other requests, and ends with the original: call `stop`.
 * Requests with media are not mirrored: their media would be fetched again.
 */
export function mirroredCopy(
  [first, ...rest]: GenerationRequests,
  context: RequestContext,
  others: OtherModels | undefined,
): MirroredCopy | undefined {
  const { id, receivedAtMs, model } = context
  if (model.mirror === undefined || [first, ...rest].some(({ prompt }) => hasMedia(prompt))) return undefined
  if (conversationShare(first, context, `mirror of ${model.id}`) * 100 >= model.mirror.percent) return undefined
  const target = findTarget(model.mirror.to, model, others)
  if (target === undefined) return undefined
  const ended = new AbortController()
  const copyOf = ({ callerKeys: _, ...request }: GenerationRequest): GenerationRequest => ({
    ...request,
    id: `${request.id}-mirror`,
    model: target.id,
  })
  return {
    requests: [copyOf(first), ...rest.map(copyOf)],
    context: {
      id: `${id}-mirror`,
      principal: mirror,
      model: target,
      receivedAtMs,
      signal: ended.signal,
      lane: 'background',
      onLimit: (error) => ended.abort(error),
    },
    stop: () => ended.abort(new AppError('cancelled', 'the request that this one is a copy of has ended')),
  }
}

/** A version of the model by its name, or another model. */
function findTarget(to: string, model: ServedModel, others: OtherModels | undefined): ServedModel | undefined {
  const target = others?.find(model.versions?.find(({ name }) => name === to)?.id ?? to, {})
  return target?.id === model.id ? undefined : target
}
