import { FifoScheduler } from '../core/schedule/fifo-scheduler.ts'
import type { ServerDeps } from '../http/deps.ts'
import type { CreateScheduler } from './create-model.ts'

type KeyLimiting = { readonly createScheduler: CreateScheduler } & Pick<ServerDeps, 'readLimits'>

/** Schedulers that keep the limits of keys, where there are keys. */
export async function createKeyLimiting({ requiresKey }: { readonly requiresKey: boolean }): Promise<KeyLimiting> {
  if (!requiresKey) return { createScheduler: (options) => new FifoScheduler(options) }
  // Loaded only here: most servers on loopback have no keys.
  const [{ Quotas }, { limitScheduler }] = await Promise.all([
    import('../quota/quotas.ts'),
    import('../quota/limit-scheduler.ts'),
  ])
  const quotas = new Quotas()
  return {
    createScheduler: (options) => limitScheduler(new FifoScheduler(options), quotas),
    readLimits: (quota) => quotas.states(quota),
  }
}
