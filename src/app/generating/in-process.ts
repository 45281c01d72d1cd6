import type { Emit } from '../../base/emit.ts'
import type { AppError } from '../../contract/errors.ts'
import type { GenerationEvent } from '../../contract/event.ts'
import { allScopes, type Principal } from '../../contract/principal.ts'
import type { GenerationRequests } from '../../contract/request.ts'
import type { ServedModel } from '../../contract/served-model.ts'
import type { Catalogue } from '../../contract/server/catalogue.ts'
import type { Cancellations } from '../../core/cancel/cancellations.ts'
import type { Generation } from '../../core/generate.ts'
import { answer } from '../../core/tool-loop/answer.ts'
import type { AnswerDeps } from '../../core/tool-loop/deps.ts'

/** Callers in this process have all scopes. */
const principal: Principal = { id: 'in-process', scopes: allScopes }

type InProcessDeps = {
  readonly cancellations: Cancellations
  readonly generating: AnswerDeps
  readonly models: Pick<Catalogue, 'find'>
}

/** Runs generations of callers in this process like those over HTTP. */
export function createInProcess({ cancellations, generating, models }: InProcessDeps) {
  return (requests: GenerationRequests, signal?: AbortSignal): Generation => {
    const model = models.find(requests[0].model, principal)
    // The failure is reported when the generation runs.
    if (model instanceof Promise) model.catch(() => undefined)
    return { run: async (emit) => run(await model, requests, { signal, emit }) }
  }

  async function run(model: ServedModel, requests: GenerationRequests, { signal, emit }: RunOptions): Promise<void> {
    const { id } = requests[0]
    const handle = cancellations.open({ id, owner: principal.id })
    handle.servedBy(model.id)
    const cancel = () => handle.cancel('client-gone')
    signal?.addEventListener('abort', cancel, { once: true })
    if (signal?.aborted === true) cancel()
    try {
      const context = {
        id,
        principal,
        model,
        receivedAtMs: generating.now(),
        signal: handle.signal,
        onTokensAfterCancel: (count: number) => handle.addTokensAfterCancel(count),
        onWorkEnded: () => handle.workEnded(),
        onLimit: (error: AppError) => void handle.expire(error),
        onModel: (id: string) => handle.servedBy(id),
      }
      await answer(generating, requests, context).run(emit)
    } finally {
      signal?.removeEventListener('abort', cancel)
      handle.close()
    }
  }
}

type RunOptions = { readonly signal: AbortSignal | undefined; readonly emit: Emit<GenerationEvent> }
