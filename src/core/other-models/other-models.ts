import type { AppError } from '../../contract/errors.ts'
import type { ModelViewer } from '../../contract/principal.ts'
import type { ServedModel } from '../../contract/served-model.ts'

/** A request that another model served. */
export type Fallback = {
  /** Of the request. */
  readonly id: string
  /** The model that was asked for, and why it could not serve. */
  readonly model: string
  readonly error: AppError
  readonly servedBy: string
}

/** The other models of a server. */
export type OtherModels = {
  /** Undefined where there is no model of this name, or the viewer may not use it. */
  find(name: string, viewer: ModelViewer): ServedModel | undefined
  /** Another model has begun to answer. */
  onFallback?(fallback: Fallback): void
}
