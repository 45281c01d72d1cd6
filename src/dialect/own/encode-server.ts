import { given } from '../../base/json.ts'
import type { Device, ServerReport } from '../../contract/engine.ts'
import type { ResidencyStatus } from '../../contract/residency.ts'
import type { SchedulerLoad } from '../../contract/scheduler.ts'
import type { ModelSummary } from '../../contract/server/catalogue.ts'
import type { LoadReport } from '../../contract/server/lifecycle.ts'
import type { WireModel, WireReplica, WireServer } from './replies.ts'

/** A model as `GET /api/server` shows it. */
export type ShownModel = Pick<ModelSummary, 'id' | 'aliases' | 'state' | 'contextLength' | 'runsOn' | 'servers'> & {
  readonly load: SchedulerLoad
  readonly trainedContextLength?: number
  /** Its abilities in Ollama's terms. */
  readonly abilities: readonly string[]
  readonly engine?: string
  /** Added by a load; an unload removes it. */
  readonly isAdded?: true
  readonly quantization?: string
  readonly fileBytes?: number
  readonly resident?: ResidencyStatus
}

type ShownServer = {
  readonly version: string
  readonly models: readonly ShownModel[]
  readonly loads: readonly LoadReport[]
  readonly memory: { readonly budgetBytes: number; readonly usedBytes: number } | undefined
  readonly devices: readonly Device[]
  /** Whether the server loads and unloads models, and keeps the bodies of requests. */
  readonly can: { readonly load: boolean; readonly replay: boolean }
}

/** The reply of `GET /api/server`. */
export function encodeServer({ version, models, loads, memory, devices, can }: ShownServer): WireServer {
  return {
    version,
    can_load: can.load,
    keeps_bodies: can.replay,
    ...(memory !== undefined && { memory: { budget_bytes: memory.budgetBytes, used_bytes: memory.usedBytes } }),
    ...(devices.length > 0 && {
      devices: devices.map(({ name, description, freeBytes, totalBytes }) => ({
        name,
        description,
        total_bytes: totalBytes,
        free_bytes: freeBytes,
      })),
    }),
    models: models.map(encodeModel),
    loads: loads.map(({ model, phase, doneBytes, totalBytes, fraction }) => ({
      model,
      phase: underscored(phase),
      done_bytes: doneBytes,
      total_bytes: totalBytes,
      fraction: Math.round(fraction * 1000) / 1000,
    })),
  }
}

function encodeModel(model: ShownModel): WireModel {
  const { id, aliases, state, load, contextLength, trainedContextLength, abilities, engine, isAdded } = model
  const { runsOn, quantization, fileBytes, resident, servers } = model
  return {
    id,
    aliases,
    state: state.type,
    ...(state.type === 'loading' && { progress: Math.round(state.progress * 1000) / 1000 }),
    ...(state.type === 'failed' && { reason: state.reason }),
    slots: load.slots,
    running: load.busy,
    waiting: load.queued,
    abilities,
    ...given({ context_length: contextLength, native_context_length: trainedContextLength, engine, runs_on: runsOn }),
    ...(isAdded === true && { added: true }),
    ...given({ quantization, file_bytes: fileBytes }),
    ...(resident !== undefined && {
      memory_bytes: resident.bytes,
      residency: resident.state,
      ...(resident.expiresAtMs !== undefined && { unloads_at_ms: resident.expiresAtMs }),
    }),
    ...(servers !== undefined && { servers: servers.map(encodeReplica) }),
  }
}

function encodeReplica(server: ServerReport): WireReplica {
  const { host, state, source, lastFailure, activeRequests, outstandingTokens, found } = server
  return {
    host,
    state: underscored(state),
    running: activeRequests,
    outstanding_tokens: outstandingTokens,
    ...given({ source, last_failure: lastFailure }),
    ...(found !== undefined && {
      kind: found.kind,
      ...given({ version: found.version, context_length: found.contextLength }),
    }),
  }
}

type Underscored<Name extends string> = Name extends `${infer Begin}-${infer Rest}` ? `${Begin}_${Underscored<Rest>}` : Name

function underscored<Name extends string>(name: Name): Underscored<Name> {
  return name.replaceAll('-', '_') as Underscored<Name>
}
