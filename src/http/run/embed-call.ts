import type { EmbedRequest, EmbedResult } from '../../contract/engine.ts'
import type { NameOf } from '../../contract/field.ts'
import type { ModelSummary } from '../../contract/server/catalogue.ts'
import { embed } from '../../core/uses/embed.ts'
import { nameWithKeys, providerDataHeader, readProviderData } from '../../dialect/llama-stack/provider-data.ts'
import { withModel } from './default-model.ts'
import type { Models, Watching } from './deps.ts'
import { createCallHandler } from './serve-call.ts'

/** A call for embeddings in canonical form, and how to encode its reply. */
type EmbedCall = {
  readonly request: EmbedRequest
  readonly ignored: readonly string[]
  readonly nameOf: NameOf
  encode(result: EmbedResult): unknown
}

/** The handler of calls for embeddings, in any protocol, with the caller's keys for the servers behind a model. */
export function createEmbedHandler(
  deps: Models & Watching,
  decode: (body: unknown) => EmbedCall,
  { modelField = 'model' }: { readonly modelField?: string } = {},
) {
  const wanted = { ...deps, embeds: true }
  return createCallHandler(deps, (body, { headers, principal }) => {
    const { request, ignored, nameOf, encode } = decode(withModel(body, wanted, principal, modelField))
    const { callerKeys, ignored: ignoredData } = readProviderData(headers)
    const unused = callerKeys !== undefined && !hasServers(deps.models.list(principal), request.model) ? [providerDataHeader] : []
    return {
      ignored: [...ignored, ...ignoredData, ...unused],
      nameOf: nameWithKeys(nameOf),
      run: async (caller) => {
        const model = await deps.models.find(request.model, principal)
        return encode(await embed({ ...request, ...(callerKeys !== undefined && { callerKeys }) }, { model, ...caller }))
      },
    }
  })
}

/** Whether other servers run the model; false for an unknown model, which fails later. */
function hasServers(models: readonly ModelSummary[], name: string): boolean {
  return models.some(({ id, aliases, servers }) => servers !== undefined && (id === name || aliases.includes(name)))
}
