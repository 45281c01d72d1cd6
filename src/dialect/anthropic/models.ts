import type { AnthropicModel, AnthropicModelList } from './replies.ts'

/** A model as Anthropic's model routes list it. */
type ModelEntry = {
  readonly id: string
  readonly createdAtMs: number
  readonly contextLength?: number
}

export function encodeAnthropicModel({ id, createdAtMs, contextLength }: ModelEntry): AnthropicModel {
  return {
    type: 'model',
    id,
    display_name: id,
    created_at: new Date(createdAtMs).toISOString(),
    capabilities: null,
    deprecated_at: null,
    lifecycle: 'active',
    line: null,
    max_input_tokens: contextLength ?? null,
    max_tokens: contextLength ?? null,
    retires_at: null,
  }
}

type Page = { readonly limit: number; readonly afterId?: string; readonly beforeId?: string }

const defaultLimit = 20

export function readPage(query: Readonly<Record<string, unknown>>): Page {
  const { limit, after_id: afterId, before_id: beforeId } = query
  const asked = Number(limit)
  return {
    limit: Number.isInteger(asked) && asked >= 1 && asked <= 1000 ? asked : defaultLimit,
    ...(typeof afterId === 'string' && { afterId }),
    ...(typeof beforeId === 'string' && { beforeId }),
  }
}

/** A page of Anthropic's list of models. An unknown id starts at the beginning. */
export function encodeAnthropicModels(models: readonly ModelEntry[], { limit, afterId, beforeId }: Page): AnthropicModelList {
  const after = models.findIndex(({ id }) => id === afterId) + 1
  const before = models.findIndex(({ id }) => id === beforeId)
  const end = before === -1 ? Math.min(models.length, after + limit) : before
  const begin = before === -1 ? after : Math.max(0, before - limit)
  const page = models.slice(begin, end)
  return {
    data: page.map(encodeAnthropicModel),
    has_more: before === -1 ? end < models.length : begin > 0,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  }
}
