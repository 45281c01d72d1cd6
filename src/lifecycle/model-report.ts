import type { ConfiguredModel } from '../config/models.ts'
import type { EngineFacts } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import { field } from '../contract/field.ts'
import type { ServedModel } from '../contract/served-model.ts'
import type { FoundModel, ModelReport } from '../contract/server/lifecycle.ts'
import { longestOf } from '../registry/gguf/choose-context.ts'
import { settingsOf } from './apply-settings.ts'
import type { ModelWithFiles } from './fetch-files.ts'
import { fileOf, variantOf } from './find-model.ts'

/** A model of the set that is changed here. */
export type Managed = ServedModel & {
  readonly aliases: readonly string[]
  readonly createdAtMs: number
  /** Absent for an engine of the library's user, which keeps its settings. */
  readonly config: ConfiguredModel | undefined
}

/** Finds out what a model will read here, asking its repository if its file is not here. Rejects only with the signal's reason. */
export type DescribeMedia = (
  config: ModelWithFiles,
  asked: { readonly env: Readonly<Record<string, string | undefined>>; readonly signal: AbortSignal },
) => Promise<Pick<EngineFacts, 'modalities' | 'mediaProblem'>>

/** The facts of a model in its configuration. */
export function describeConfig(config: ConfiguredModel): Omit<FoundModel, 'readsImages'> {
  const [file, variant] = [fileOf(config), variantOf(config)]
  return {
    id: config.id,
    isGguf: config.engine === 'llama' || config.engine === 'llama-server',
    ...(file !== undefined && { file }),
    ...(variant !== undefined && { variant }),
  }
}

/** The requests that use a model or wait for it. */
export function requestsOf({ scheduler: { load } }: Managed): number {
  return load.busy + load.queued
}

/** A model as its operators see it. */
export function report(model: Managed): ModelReport {
  const { id, aliases, createdAtMs, engine, scheduler, config, resident } = model
  const { slots } = scheduler.load
  const longestContexts = longestOf(slots, (count) => resident?.longestContext(count))
  return {
    id,
    aliases,
    createdAtMs,
    state: engine.state,
    facts: engine.facts,
    slots,
    requests: requestsOf(model),
    ...(longestContexts.length > 0 && { longestContexts }),
    settings: {},
    ...(config !== undefined && { ...describeConfig(config), engine: config.engine, settings: settingsOf(config) }),
  }
}

/** The part of a configuration that decides how a model is loaded. */
export function decidingLoad({ load: _, ...config }: ConfiguredModel): unknown {
  return config
}

/** Refuses to load a model on an engine of the library's user. */
export function refuseOwn({ id }: Managed): never {
  const message = `model '${id}' runs on an engine of this program's own, which is not loaded here`
  throw new AppError('invalid-request', message, { at: ['name'] })
}

/** Throws `request-conflict` while requests use a loaded model, unless they may be ended. */
export function refuseInUse(model: Managed, endsRequests: boolean): void {
  const { id, engine } = model
  const count = requestsOf(model)
  if (count === 0 || endsRequests || engine.state.type === 'stopped') return
  const message = `model '${id}' is answering (requests: ${count}): try again when they have ended, or send ${field('endsRequests')} true, which cancels them`
  throw new AppError('request-conflict', message, { at: ['endsRequests'] })
}

/** Resolves when no request uses the model, or when it has stopped; rejects with the signal's reason. */
export async function untilIdle({ scheduler, engine }: Managed, signal: AbortSignal): Promise<void> {
  if (engine.state.type === 'stopped') return
  const stopped = new AbortController()
  const unsubscribe = engine.onState(({ type }) => {
    if (type === 'stopped') stopped.abort()
  })
  try {
    await scheduler.whenIdle(AbortSignal.any([signal, stopped.signal]))
  } catch {
    signal.throwIfAborted()
  } finally {
    unsubscribe()
  }
}

export function unknownName(name: string, models: readonly Managed[]): AppError {
  const ids = models.map(({ id }) => id)
  const message = `there is no model '${name.slice(0, 100)}'; there are: ${ids.join(', ') || 'none'}`
  return new AppError('model-not-found', message, { at: ['name'] })
}
