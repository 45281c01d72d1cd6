import type { Logger } from 'pino'
import type { Siblings } from '../contract/server/siblings.ts'
import { isReady } from '../http/run/readiness.ts'
import type { openGenerating } from './generating/open-generating.ts'
import type { ModelSet } from './models/model-set.ts'
import type { openModels } from './models/open-models.ts'
import type { State } from './state/open-state.ts'
import { SharedChoices } from './state/shared-choices.ts'
import type { openWatching } from './watching/open-watching.ts'

type Parts = {
  readonly log: Logger
  readonly state: State
  readonly set: ModelSet
  readonly watching: Awaited<ReturnType<typeof openWatching>>
  readonly models: ReturnType<typeof openModels>
  readonly generating: Awaited<ReturnType<typeof openGenerating>>
  /** Before it listens, it gets no requests. */
  isListening(): boolean
}

/**
 * Does what the other processes of this server ask, and follows what operators choose on other servers with the same store. Resolves with
 * what tells those; undefined: there are none.
 */
export async function joinOthers(siblings: Siblings | undefined, parts: Parts): Promise<SharedChoices | undefined> {
  const { log, set, watching, models, generating, isListening } = parts
  const { live, store } = parts.state
  const { cancellations } = watching.forRoutes
  siblings?.join({
    cancel: (cancel) => cancellations.cancelRequested(cancel),
    decide: (decision) => generating.approvals.decide(decision),
    isReady: () => !isListening() || isReady(models.catalogue.list({}), models.catalogue.known === 'none'),
    readMetrics: watching.metrics.read,
    usePreset: (choice) => live.presets.choose(choice),
    drain: (change) => models.drains.note(change),
    notePassed: (passed) => models.checks.hear(passed),
    readActivity: (question) => watching.activity.read(question),
    findRequest: (id, owner) => watching.activity.find(id, owner),
  })
  if (store?.documents === undefined) return undefined
  const choices = await SharedChoices.open({
    documents: store.documents,
    presets: live.presets,
    configuredPreset: () => live.current.sampling.preset,
    engines: () => set.all(),
    log,
  })
  set.onChange(() => choices.watchModels())
  return choices
}
