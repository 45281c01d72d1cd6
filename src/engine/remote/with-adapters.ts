import type { GenerationRequest } from '../../contract/request.ts'
import { refuseAdapterChoice, scalesFor } from '../shared/adapters.ts'
import type { RemoteEngineOptions } from './options.ts'
import type { SentRequest } from './servers/check-upstream.ts'

/** With the scale of each adapter: where a request has none, the server would go on from prompts that it read with others. */
export function withAdapters(
  given: GenerationRequest,
  { adapters, id }: Pick<RemoteEngineOptions, 'adapters' | 'id'>,
): SentRequest {
  if (adapters === undefined) {
    refuseAdapterChoice(given, id)
    return given
  }
  const { adapter, ...request } = given
  const scales = scalesFor(adapter, { model: id, adapters })
  return { ...request, ...(adapters.length > 0 && { lora: scales.map((scale, index) => ({ id: index, scale })) }) }
}
