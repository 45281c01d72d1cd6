import type { Adapter } from '../../contract/engine.ts'
import type { Sampling } from '../../contract/sampling.ts'
import type { Start, SupervisorLog } from '../supervise/supervise.ts'
import type { LoadOptions } from './channel/ipc.ts'
import type { SpawnWorker } from './process.ts'

export type LlamaEngineOptions = Start<LoadOptions> & {
  readonly id: string
  /** Sampling defaults of the configuration; they win over those of the model's file. */
  readonly sampling?: Sampling
  readonly log: SupervisorLog
  readonly spawn?: SpawnWorker
  /** How long rendering and tokenizing a prompt may take before the worker counts as hung. */
  readonly prepareTimeoutMs?: number
  /** The adapters of the model, which are loaded with it. */
  readonly adapters?: readonly Adapter[]
  /** Auto calls are constrained by the schemas of all tools, not only of the strict ones. */
  readonly constrainsAllTools?: boolean
}
