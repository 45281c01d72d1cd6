import type { EngineState } from '../core/engine.ts'

/** What the model routes tell of a model. */
export type ModelEntry = {
  readonly id: string
  readonly aliases: readonly string[]
  readonly createdAtMs: number
  readonly contextLength?: number
  readonly state: Pick<EngineState, 'type'>
}

/** OpenAI's model object; `context_length`, `state` and `aliases` are ours. */
export function encodeModel({ id, aliases, createdAtMs, contextLength, state }: ModelEntry) {
  return {
    id,
    object: 'model' as const,
    created: Math.floor(createdAtMs / 1000),
    owned_by: 'dragoman',
    ...(contextLength !== undefined && { context_length: contextLength }),
    state: state.type,
    aliases,
  }
}

/** OpenAI's list of models, which it never splits into pages. */
export function encodeModelList(models: readonly ModelEntry[]) {
  return { object: 'list' as const, data: models.map(encodeModel) }
}
