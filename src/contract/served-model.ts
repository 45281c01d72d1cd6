import type { Engine } from './engine.ts'
import type { Scheduler } from './scheduler.ts'

/** A model that can answer: its id, the engine that runs it, and who decides when. */
export type ServedModel = { readonly id: string; readonly engine: Engine; readonly scheduler: Scheduler }
