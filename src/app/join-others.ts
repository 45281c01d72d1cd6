import type { Logger } from 'pino'
import { isReady, readyTopic } from '../http/run/readiness.ts'
import type { ModelSet } from './models/model-set.ts'
import type { openModels } from './models/open-models.ts'
import { SharedChoices } from './sharing/shared-choices.ts'
import type { State } from './state/open-state.ts'

type Parts = {
  readonly log: Logger
  readonly state: State
  readonly set: ModelSet
  readonly models: ReturnType<typeof openModels>
  /** Before it listens, it gets no requests. */
  isListening(): boolean
}

/**
 * Answers other processes of this server whether it is ready, and follows what operators choose in other processes. Resolves with what tells
 * those; undefined: there are none.
 */
export async function joinOthers({ log, state, set, models, isListening }: Parts): Promise<SharedChoices | undefined> {
  const { live, siblings, everyone } = state
  const { catalogue } = models
  await siblings?.subscribe(readyTopic, () => !isListening() || isReady(catalogue.list({}), catalogue.known === 'none'))
  if (everyone === undefined) return undefined
  const choices = await SharedChoices.open({
    documents: everyone.documents,
    serverDocuments: siblings?.documents,
    presets: live.presets,
    configuredPreset: () => live.current.sampling.preset,
    drains: models.drains,
    engines: () => set.all(),
    log,
  })
  set.onChange(() => choices.watchModels())
  return choices
}
