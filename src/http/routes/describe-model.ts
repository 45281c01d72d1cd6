import type { ModelViewer } from '../../contract/principal.ts'
import type { ModelSummary } from '../../contract/server/catalogue.ts'
import type { OllamaModel } from '../../dialect/ollama/models.ts'
import { readAbilities } from '../../dialect/unsloth/template-abilities.ts'
import type { Models } from '../run/deps.ts'

/** A model with the facts of its engine, its file and its chat template. */
export async function describeModel(deps: Models, summary: ModelSummary, caller: ModelViewer): Promise<OllamaModel> {
  const { id, aliases, createdAtMs, state, contextLength, kind } = summary
  const { engine, resident } = deps.models.get(id, caller)
  const { facts } = engine
  const file = await deps.modelFiles?.describe(id)
  const template = facts.chatTemplate ?? file?.chatTemplate
  const abilities = readAbilities(template, id)
  const { bytes, expiresAtMs } = resident?.status ?? {}
  return {
    id,
    aliases,
    createdAtMs,
    ...(kind !== undefined && { kind }),
    facts,
    usesTools: abilities.supports_tools,
    thinks: abilities.supports_reasoning,
    isLoaded: state.type === 'ready',
    ...(contextLength !== undefined && { contextLength }),
    ...(file !== undefined && { file }),
    ...(bytes !== undefined && bytes > 0 && { memoryBytes: bytes }),
    ...(expiresAtMs !== undefined && { expiresAtMs }),
  }
}
