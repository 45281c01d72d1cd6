import type { Engine } from './engine.ts'
import type { Scheduler } from './scheduler.ts'

/** A model with the engine that runs it and the scheduler of its requests. */
export type ServedModel = { readonly id: string; readonly engine: Engine; readonly scheduler: Scheduler }
