import type { Logger } from 'pino'
import type { Dialect } from '../contract/dialect.ts'
import type { EngineState, ServerReport } from '../contract/engine.ts'
import type { ServedModel } from '../contract/served-model.ts'
import type { Cancellations } from '../core/cancellations.ts'
import type { GenerateDeps } from '../core/generate.ts'
import type { PresetSwitch } from '../core/preset-switch.ts'
import type { ReasoningFields } from '../dialect/openai-chat/encode.ts'
import type { HostPolicy } from './hosts.ts'
import type { Metrics } from './metrics.ts'

/** A model as clients and operators see it. */
export type ModelSummary = {
  readonly id: string
  readonly aliases: readonly string[]
  readonly createdAtMs: number
  readonly contextLength?: number
  readonly state: EngineState
  /** Where others run the model. */
  readonly servers?: readonly ServerReport[]
  /** Whether the server counts as ready only when this model is. */
  readonly loadsAtStart: boolean
}

/** The models that this server knows. */
export interface ModelDirectory {
  list(): readonly ModelSummary[]
  /** Throws `model-not-found`, naming what there is. */
  get(nameOrAlias: string): ModelSummary
}

/** Chat templates that models may be switched to. */
export interface TemplateShelf {
  list(): Promise<readonly string[]>
  /** The text of a template; undefined for a name that is not listed. */
  read(name: string): Promise<string | undefined>
}

/** What the HTTP layer is handed by the composition root. */
export type ServerDeps = GenerateDeps & {
  /** Throws `model-not-found`, naming what there is. */
  resolveModel(name: string): ServedModel
  readonly models: ModelDirectory
  /** Protocols besides those built in, each with the path that it is served at. */
  readonly dialects?: readonly { readonly path: string; readonly dialect: Dialect }[]
  readonly presets: PresetSwitch
  readonly templates?: TemplateShelf
  readonly cancellations: Cancellations
  readonly auth: { readonly apiKeyHashes: readonly string[] }
  readonly hosts: HostPolicy
  /** Whose web pages may use this server from a browser, as origins; `*` allows all, and without it none. */
  readonly allowedOrigins?: readonly string[]
  /** How long a stream may be silent before a sign of life is sent; 10 s unless given. */
  readonly heartbeatMs?: number
  /** How long a reader may take nothing of what was sent before it is dropped; 30 minutes unless given. */
  readonly stalledReaderMs?: number
  /** How long a request may take to arrive whole; 2 minutes unless given. */
  readonly requestTimeoutMs?: number
  /** The largest body; 32 MiB unless given. */
  readonly bodyLimitBytes?: number
  /** Under which names chat replies show their reasoning; both unless given. */
  readonly reasoningFields?: ReasoningFields
  readonly log: Logger
  readonly metrics: Metrics
  readonly version: string
}

/** OpenAI's name for what a reply depends on besides its request: it changes when the same seed may give another text. */
export function systemFingerprint({ version }: Pick<ServerDeps, 'version'>): string {
  return `dragoman-${version}`
}
