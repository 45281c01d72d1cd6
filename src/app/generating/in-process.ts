import { ActiveRuns } from '../../base/active-runs.ts'
import type { Emit } from '../../base/emit.ts'
import { AppError } from '../../contract/errors.ts'
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

/** How long generations may take to end after they were cancelled. */
const cancelledGraceMs = 5000

type InProcess = {
  /** Runs them like those over HTTP. Throws `model-not-found`, and `shutting-down` after `close`. */
  generate(requests: GenerationRequests, signal?: AbortSignal): Generation
  /** Refuses new ones, and cancels those that still run after `graceMs`. */
  close(graceMs: number): Promise<void>
}

export function createInProcess({ cancellations, generating, models }: InProcessDeps): InProcess {
  const active = new ActiveRuns()
  let isClosed = false
  const refuseClosed = () => {
    if (isClosed) throw new AppError('shutting-down', 'this Dragoman was closed; create another one')
  }

  async function run(model: ServedModel, requests: GenerationRequests, { signal, emit }: RunOptions): Promise<void> {
    const { id } = requests[0]
    const handle = cancellations.open({ id, owner: principal.id })
    handle.servedBy(model.id)
    const abandon = () => handle.abandon(signal?.reason)
    signal?.addEventListener('abort', abandon, { once: true })
    if (signal?.aborted === true) abandon()
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
      signal?.removeEventListener('abort', abandon)
      handle.close()
    }
  }

  return {
    generate(requests, signal) {
      refuseClosed()
      const model = models.find(requests[0].model, principal)
      // The failure is reported when the generation runs.
      if (model instanceof Promise) model.catch(() => undefined)
      let hasRun = false
      const start = async (emit: Emit<GenerationEvent>) => {
        refuseClosed()
        if (hasRun) throw new AppError('invalid-request', 'this generation has run already: call generate() for another one')
        hasRun = true
        await active.track(async () => run(await model, requests, { signal, emit }))
      }
      return { run: start }
    },
    async close(graceMs) {
      isClosed = true
      if (await active.idleWithin(graceMs)) return
      cancellations.cancelWhere({ owner: principal.id }, 'shutting-down')
      await active.idleWithin(cancelledGraceMs)
    },
  }
}

type RunOptions = { readonly signal: AbortSignal | undefined; readonly emit: Emit<GenerationEvent> }
