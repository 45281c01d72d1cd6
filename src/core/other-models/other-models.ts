import type { AppError } from '../../contract/errors.ts'
import type { ModelViewer } from '../../contract/principal.ts'
import type { ServedModel } from '../../contract/served-model.ts'

/** A request that another model served. */
export type Fallback = {
  readonly id: string
  /** The requested model, and why it could not serve. */
  readonly model: string
  readonly error: AppError
  readonly servedBy: string
}

export type OtherModels = {
  /** Undefined for an unknown model, or one that the viewer may not use. */
  find(name: string, viewer: ModelViewer): ServedModel | undefined
  /** Called when another model has begun to answer. */
  onFallback?(fallback: Fallback): void
}
