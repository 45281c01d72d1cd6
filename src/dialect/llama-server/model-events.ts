import type { LoadReport } from '../../contract/server/lifecycle.ts'
import { type ModelEntry, type RouterStatus, routerMeta, routerStatus } from '../openai/models.ts'

type ModelMoment = {
  readonly id: string
  readonly status: RouterStatus
  /** How much of a load is done, from 0 to 1. */
  readonly progress?: number
  readonly download?: { readonly done: number; readonly total: number }
  readonly meta: object
}

type Shown = Pick<ModelEntry, 'id' | 'contextLength' | 'file'> & {
  readonly state: Parameters<typeof routerStatus>[0] & { readonly progress?: number }
}

/**
 * The models at this moment; one that is being fetched need not be among those that are served. `names`: those under which clients fetch
 * models, by their ids; they show the whole load.
 */
export function momentsOf(
  models: readonly Shown[],
  loads: readonly LoadReport[],
  names: ReadonlyMap<string, string> = new Map(),
): readonly ModelMoment[] {
  const running = new Map(loads.map((load) => [load.model, load]))
  const served = models.map(({ id, contextLength, file, state }): ModelMoment => {
    const name = names.get(id)
    const load = name === undefined || name === id ? running.get(id) : undefined
    const fetched = load === undefined ? undefined : fetching(load, name === id)
    if (fetched !== undefined) return { id, meta: {}, ...fetched }
    const meta = state.type === 'ready' ? routerMeta(contextLength, file) : {}
    return { id, status: routerStatus(state), meta, ...(state.type === 'loading' && { progress: state.progress ?? 0 }) }
  })
  const known = new Set(models.map(({ id }) => id))
  const coming = loads.flatMap((load): ModelMoment[] => {
    const name = names.get(load.model)
    const id = name ?? load.model
    const fetched = known.has(id) ? undefined : fetching(load, name !== undefined)
    return fetched === undefined ? [] : [{ id, meta: {}, ...fetched }]
  })
  return [...served, ...coming]
}

function fetching(
  { phase, doneBytes: done, totalBytes: total }: LoadReport,
  showsAll = false,
): Pick<ModelMoment, 'status' | 'download'> | undefined {
  const status = { value: 'downloading', args: [] } as const
  if (phase === 'downloading' || phase === 'verifying') return { status, download: { done, total } }
  return showsAll ? { status } : undefined
}

/** A load or an unload that has ended: its client waits for an event, even if nothing has changed. */
export type EndedChange = {
  readonly model: string
  /** For a download: whether it is there. */
  readonly isFetched?: boolean
}

/** llama-server's events between two moments. */
export function eventsBetween(
  before: readonly ModelMoment[],
  now: readonly ModelMoment[],
  ended: readonly EndedChange[] = [],
): readonly object[] {
  const earlier = new Map(before.map((model) => [model.id, model]))
  const present = new Set(now.map(({ id }) => id))
  const waited = new Map(ended.map((change) => [change.model, change]))
  const changes = now.flatMap((model) => changesOf(earlier.get(model.id), model, waited.has(model.id)))
  const gone = before.filter(({ id }) => !present.has(id)).flatMap((model) => endOf(model, waited.get(model.id)))
  const isUnseen = ({ model, isFetched }: EndedChange) =>
    isFetched !== undefined && earlier.get(model)?.status.value !== 'downloading'
  const unseen = ended.filter(isUnseen).map(fetchedEvent)
  // A model that was only on its way was in no list.
  const hasNew = now.some(({ id, status }) => status.value !== 'downloading' && !isListed(earlier.get(id)))
  return [...changes, ...gone, ...unseen, ...(hasNew ? [{ model: '*', event: 'models_reload' }] : [])]
}

function fetchedEvent({ model, isFetched }: EndedChange): object {
  return { model, event: isFetched === true ? 'download_finished' : 'download_failed' }
}

function isListed(model: ModelMoment | undefined): boolean {
  return model !== undefined && model.status.value !== 'downloading'
}

function endOf({ id, status }: ModelMoment, ended: EndedChange | undefined): readonly object[] {
  if (status.value === 'downloading') return [fetchedEvent(ended ?? { model: id })]
  return [{ model: id, event: 'model_remove', data: {} }]
}

function changesOf(before: ModelMoment | undefined, now: ModelMoment, isWaited: boolean): readonly object[] {
  const { id: model, status, progress = 0, download } = now
  const was = before?.status.value
  const events: object[] = []
  const isNew = was !== status.value || before?.status.failed !== status.failed
  if (was === 'downloading' && isNew) {
    events.push({ model, event: status.failed === true ? 'download_failed' : 'download_finished' })
  }
  if (isNew && (status.value === 'loading' || status.value === 'downloading')) {
    events.push({ model, event: 'model_status', data: { status: status.value } })
  }
  if (download !== undefined && (isNew || download.done !== before?.download?.done)) {
    events.push({ model, event: 'download_progress', data: { progress: { [model]: download } } })
  }
  if (status.value === 'loading' && (isNew || progress !== before?.progress)) {
    const stages = { stages: ['text_model'], current: 'text_model', value: progress }
    events.push({ model, event: 'status_change', data: { status: 'loading', progress: stages } })
  }
  const isAtRest = status.value === 'loaded' || status.value === 'unloaded'
  if (isAtRest && ((isNew && before !== undefined) || isWaited)) events.push({ model, event: 'status_change', data: restOf(now) })
  return events
}

function restOf({ status, meta }: ModelMoment): object {
  if (status.value === 'loaded') return { status: 'loaded', info: { meta } }
  return { status: 'unloaded', exit_code: status.exit_code ?? 0 }
}
