import type { ModelViewer } from '../../contract/principal.ts'
import type { ModelSummary } from '../../contract/server/catalogue.ts'
import { capabilitiesOf, parameterSize } from '../../dialect/ollama/models.ts'
import type { Models } from '../run/deps.ts'
import { describeModel } from './describe-model.ts'

export async function describeForLmStudio(deps: Models, entry: ModelSummary, caller: ModelViewer) {
  const { facts } = deps.models.get(entry.id, caller).engine
  const described = await describeModel(deps, entry, caller)
  const { file } = described
  const contextLength = facts.contextLength ?? entry.contextLength ?? file?.contextLength
  return { entry, abilities: capabilitiesOf(described), contextLength, file, size: file === undefined ? '' : parameterSize(file) }
}
