import type { EngineState, ModelKind, ServerReport } from '../../contract/engine.ts'

/** A model as the model routes list it. */
export type ModelEntry = {
  readonly id: string
  readonly aliases: readonly string[]
  readonly createdAtMs: number
  readonly contextLength?: number
  readonly ownedBy?: string
  readonly kind?: ModelKind
  readonly state: Pick<EngineState, 'type'>
  /** The replicas of a remote model. */
  readonly servers?: readonly ServerReport[]
}

/** OpenAI's model object; `context_length`, `kind`, `state` and `aliases` are ours. */
export function encodeModel({ id, aliases, createdAtMs, contextLength, ownedBy, kind, state }: ModelEntry) {
  return {
    id,
    object: 'model' as const,
    created: Math.floor(createdAtMs / 1000),
    owned_by: ownedBy ?? 'dragoman',
    ...(contextLength !== undefined && { context_length: contextLength }),
    ...(kind !== undefined && { kind }),
    state: state.type,
    aliases,
  }
}

/** OpenAI's list of models, which has no pages. */
export function encodeModelList(models: readonly ModelEntry[]) {
  return { object: 'list' as const, data: models.map(encodeModel) }
}

/** One model, with its replicas if it has any. */
export function encodeModelDetail(entry: ModelEntry) {
  return { ...encodeModel(entry), ...(entry.servers !== undefined && { servers: entry.servers.map(encodeServer) }) }
}

function encodeServer({ host, state, lastFailure, activeRequests, outstandingTokens, found }: ServerReport) {
  return {
    host,
    state: state === 'half-open' ? 'half_open' : state,
    ...(lastFailure !== undefined && { last_failure: lastFailure }),
    active_requests: activeRequests,
    outstanding_tokens: outstandingTokens,
    ...(found !== undefined && {
      kind: found.kind,
      ...(found.protocol !== undefined && { protocol: found.protocol }),
      ...(found.version !== undefined && { version: found.version }),
      model: found.model,
      ...(found.contextLength !== undefined && { context_length: found.contextLength }),
      abilities: found.abilities,
      ...(found.passes !== undefined && { passes: found.passes }),
    }),
  }
}
