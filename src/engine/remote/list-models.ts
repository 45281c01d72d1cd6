import { type ListedModel, listModels } from './servers/list-models.ts'
import type { ProfileName } from './servers/profile.ts'
import { type Endpoint, UpstreamClient } from './transport/client.ts'
import { toAppError } from './transport/upstream-error.ts'

export type { ListedModel } from './servers/list-models.ts'

export interface ModelLister {
  /** Rejects with an `AppError` that names neither the key nor the server's text about it. */
  list(signal: AbortSignal): Promise<readonly ListedModel[]>
  close(): Promise<void>
}

/** Sends nothing before `list`. */
export function createModelLister(options: Pick<Endpoint, 'url' | 'apiKey'> & { readonly profile?: ProfileName }): ModelLister {
  const { profile, ...address } = options
  const endpoint: Endpoint = { id: address.url, weight: 1, ...address }
  const client = new UpstreamClient({ connections: 1 })
  client.keepSecretsOf([endpoint])
  return {
    list: async (signal) => {
      try {
        return await listModels({ client, endpoint, signal }, profile)
      } catch (error) {
        signal.throwIfAborted()
        throw toAppError(error)
      }
    },
    close: () => client.close(),
  }
}
