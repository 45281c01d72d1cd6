import type { EngineFacts, EngineState, ModelKind, ServerReport } from '../engine.ts'
import type { ModelViewer } from '../principal.ts'
import type { ModelVersion, ServedModel } from '../served-model.ts'
import type { ServiceKind } from '../services.ts'

/** A model as clients and operators see it. */
export type ModelSummary = {
  readonly id: string
  readonly aliases: readonly string[]
  readonly createdAtMs: number
  readonly contextLength?: number
  /** The owner of a listed model, if its server's list names one. */
  readonly ownedBy?: string
  /** The purpose of the model, as far as its engine or its server's list shows it. */
  readonly kind?: ModelKind
  /** What it reads besides text, and why not more, as far as known. */
  readonly modalities?: NonNullable<EngineFacts['modalities']>
  readonly mediaProblem?: string
  /** What its servers offer besides language. */
  readonly services?: readonly ServiceKind[]
  /** What runs it in the place of the configured engine, and why. */
  readonly runsOn?: string
  readonly state: EngineState
  /** The replicas of a remote model. */
  readonly servers?: readonly ServerReport[]
  /** Other versions that serve a share of its conversations. */
  readonly versions?: readonly ModelVersion[]
  readonly loadsAtStart: boolean
  /** Its first load, which began with the server, has not ended yet. */
  readonly isAwaited: boolean
  /** `yes`: the server is ready only while this model is; `no`: its state does not matter; `any`: one of these must be ready. */
  readonly isRequired: 'yes' | 'no' | 'any'
  /** The id of the model that answers in its place while it has failed. */
  readonly standIn?: string
}

/** The models of this server by name, as far as a caller may use them. */
export interface Catalogue {
  /** The model with this id or alias. Throws `model-not-found`, listing the models that the caller may use. */
  get(name: string, viewer: ModelViewer): ServedModel
  /** As `resolveModel`, but an unknown name is first looked up on servers that list their models. */
  find(name: string, viewer: ModelViewer): ServedModel | Promise<ServedModel>
  list(viewer: ModelViewer): readonly ModelSummary[]
  /** Throws `model-not-found` for a model that has been removed. */
  summary(model: Pick<ServedModel, 'id'>): ModelSummary
  /** Asks servers for their lists, unless that just happened. Undefined: `list` is complete. */
  refresh(): Promise<void> | undefined
  /** How many of the lists of servers have been read; `all` also where there are none. */
  readonly known: 'all' | 'some' | 'none'
  /** The same models, for protocols that ignore the case of letters in names. */
  readonly inAnyCase: Catalogue
}
