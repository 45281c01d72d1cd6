import type { Logger } from 'pino'
import { messageOf } from '../../contract/errors.ts'
import type { ApiKey } from '../../contract/principal.ts'
import type { UsageCounter } from '../../contract/quota.ts'
import type { Scheduler } from '../../contract/scheduler.ts'
import type { Catalogue } from '../../contract/server/catalogue.ts'
import { FairScheduler, type FairSchedulerOptions } from '../../core/schedule/fair-scheduler.ts'
import type { Generating, Limits } from '../../http/run/deps.ts'
import { LeasedCounter } from '../../quota/leased-counter.ts'
import { limitScheduler } from '../../quota/limit-scheduler.ts'
import type { Processes } from '../../quota/part.ts'
import { Quotas } from '../../quota/quotas.ts'

/** A budget waits for a slow counter; a limit of a minute is not worth the wait. */
const budgetPatienceMs = 10_000

/** Makes the scheduler of a model. */
export type CreateScheduler = (options: FairSchedulerOptions & { readonly id: string }) => Scheduler

type KeyLimiting = {
  readonly createScheduler: CreateScheduler
  /** Gives back what this process has reserved and not used. */
  close(): Promise<void>
} & Required<Limits & Pick<Generating, 'admitsToolCall'>>

type KeyLimitingOptions = {
  /** The counter of several processes; absent: this one counts alone. */
  readonly shared?: UsageCounter | undefined
  /** The counter of days and months, which outlives processes; absent: `shared`. */
  readonly kept?: UsageCounter | undefined
  /** The processes that count together. */
  readonly processes: () => Processes
  readonly log: Logger
  onGranted(model: string, ...waited: Parameters<NonNullable<FairSchedulerOptions['onGranted']>>): void
}

/** Wraps schedulers so that they enforce the limits of keys. */
export function createKeyLimiting({ shared, kept = shared, processes, log, onGranted }: KeyLimitingOptions): KeyLimiting {
  const common = { processes, ...logged(log) }
  const minutes = shared && new LeasedCounter({ shared, ...common })
  const budgets = kept && new LeasedCounter({ shared: kept, patienceMs: budgetPatienceMs, ...common })
  const quotas = new Quotas(minutes, budgets)
  const createFair: CreateScheduler = ({ id, ...options }) =>
    new FairScheduler({ onGranted: (...waited) => onGranted(id, ...waited), ...options })
  return {
    createScheduler: (options) => limitScheduler(createFair(options), quotas),
    readLimits: (quota) => quotas.states(quota),
    readBudgets: (quota) => quotas.budgets(quota),
    admitsToolCall: (quota) => quotas.admitsToolCall(quota),
    async close() {
      await Promise.all([minutes?.close(), budgets?.close()])
    },
  }
}

function logged(log: Logger) {
  return {
    onAway: (error: unknown) =>
      log.warn({ reason: messageOf(error) }, 'the limits of keys cannot be counted with other processes: this one counts alone'),
    onBack: () => log.info('the limits of keys are counted with other processes again'),
  }
}

/** Warns about model names in configured keys that no model has: they allow nothing, and may be mistyped. */
export function warnOfUnknownModels(apiKeys: readonly ApiKey[], catalogue: Pick<Catalogue, 'list'>, log: Logger): void {
  for (const [index, { models = [] }] of apiKeys.entries()) {
    const unknown = models.filter((name) => catalogue.list({ models: [name] }).length === 0)
    if (unknown.length === 0) continue
    log.warn({ setting: `server.apiKeys[${index}].models`, unknown }, 'a key may use models that are not there')
  }
}
