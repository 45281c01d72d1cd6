import { expect, test } from 'vitest'
import type { LoadReport } from '../../contract/server/lifecycle.ts'
import { eventsBetween, momentsOf } from './model-events.ts'

const ready = { id: 'm', contextLength: 100, state: { type: 'ready' } } as const
const stopped = { id: 'm', state: { type: 'stopped' } } as const
const failed = { id: 'm', state: { type: 'failed' } } as const
const loading = (progress: number) => ({ id: 'm', state: { type: 'loading', progress } }) as const
const fetching = (doneBytes: number, phase: LoadReport['phase'] = 'downloading'): LoadReport => ({
  model: 'm',
  owner: 'o',
  phase,
  doneBytes,
  totalBytes: 10,
  fraction: 0,
})
const at = (models: Parameters<typeof momentsOf>[0], loads: readonly LoadReport[] = []) => momentsOf(models, loads)
const stages = (value: number) => ({ stages: ['text_model'], current: 'text_model', value })
const loaded = { model: 'm', event: 'status_change', data: { status: 'loaded', info: { meta: { n_ctx: 100 } } } }
const unloaded = (exit_code: number) => ({ model: 'm', event: 'status_change', data: { status: 'unloaded', exit_code } })

test('a load is its status, its progress and its end', () => {
  expect(eventsBetween(at([stopped]), at([loading(0)]))).toEqual([
    { model: 'm', event: 'model_status', data: { status: 'loading' } },
    { model: 'm', event: 'status_change', data: { status: 'loading', progress: stages(0) } },
  ])
  expect(eventsBetween(at([loading(0)]), at([loading(0.5)]))).toEqual([
    { model: 'm', event: 'status_change', data: { status: 'loading', progress: stages(0.5) } },
  ])
  expect(eventsBetween(at([loading(1)]), at([ready]))).toEqual([loaded])
  expect(eventsBetween(at([loading(1)]), at([failed]))).toEqual([unloaded(1)])
  expect(eventsBetween(at([ready]), at([stopped]))).toEqual([unloaded(0)])
  expect(eventsBetween(at([ready]), at([ready]))).toEqual([])
})

test('who waits for a load or an unload gets its end, also where nothing has changed', () => {
  const ended = [{ model: 'm' }]
  expect(eventsBetween(at([ready]), at([ready]), ended)).toEqual([loaded])
  expect(eventsBetween(at([stopped]), at([stopped]), ended)).toEqual([unloaded(0)])
  expect(eventsBetween(at([stopped]), at([ready]), ended)).toEqual([loaded])
})

test('a model that is fetched has bytes, then is there', () => {
  const progress = (done: number) => ({ model: 'm', event: 'download_progress', data: { progress: { m: { done, total: 10 } } } })
  expect(eventsBetween(at([]), at([], [fetching(0)]))).toEqual([
    { model: 'm', event: 'model_status', data: { status: 'downloading' } },
    progress(0),
  ])
  expect(eventsBetween(at([], [fetching(0)]), at([], [fetching(5)]))).toEqual([progress(5)])
  expect(eventsBetween(at([], [fetching(5)]), at([ready], [fetching(5, 'loading')]))).toEqual([
    { model: 'm', event: 'download_finished' },
    loaded,
    { model: '*', event: 'models_reload' },
  ])
  expect(eventsBetween(at([], [fetching(5)]), at([]))).toEqual([{ model: 'm', event: 'download_failed' }])
})

test('a model that a client fetches has its name there until it is loaded, and its end is told however fast it was', () => {
  const names = new Map([['m', 'owner/m']])
  const coming = momentsOf([], [fetching(5)], names)
  expect(coming).toMatchObject([{ id: 'owner/m', status: { value: 'downloading' } }])
  const warming = momentsOf([loading(1)], [fetching(5, 'loading')], names)
  expect(eventsBetween(coming, warming)).not.toContainEqual(expect.objectContaining({ model: 'owner/m' }))
  const finished = { model: 'owner/m', event: 'download_finished' }
  expect(eventsBetween(warming, at([ready]), [{ model: 'owner/m', isFetched: true }])).toContainEqual(finished)
  expect(eventsBetween(at([]), at([ready]), [{ model: 'owner/m', isFetched: true }])).toContainEqual(finished)
  expect(eventsBetween(at([]), at([]), [{ model: 'owner/m', isFetched: false }])).toEqual([
    { model: 'owner/m', event: 'download_failed' },
  ])
})

test('a model that comes or goes changes the list', () => {
  expect(eventsBetween(at([]), at([stopped]))).toEqual([{ model: '*', event: 'models_reload' }])
  expect(eventsBetween(at([ready]), at([]))).toEqual([{ model: 'm', event: 'model_remove', data: {} }])
})
