import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Batches } from '../../batches/service.ts'
import type { Dialect } from '../../contract/dialect.ts'
import type { Device } from '../../contract/engine.ts'
import type { FileStore } from '../../contract/file-store.ts'
import type { MediaConverter } from '../../contract/media.ts'
import type { BudgetState, KeyQuota } from '../../contract/quota.ts'
import type { Residency } from '../../contract/residency.ts'
import type { SealerOf } from '../../contract/sealer.ts'
import type { ServedModel } from '../../contract/served-model.ts'
import type { Activity, History, LogLines } from '../../contract/server/activity.ts'
import type { Catalogue } from '../../contract/server/catalogue.ts'
import type { KeyDirectory } from '../../contract/server/keys.ts'
import type { Lifecycle } from '../../contract/server/lifecycle.ts'
import type { ModelFiles } from '../../contract/server/model-file.ts'
import type { FindOffers } from '../../contract/server/model-offers.ts'
import type { PresetChoice } from '../../contract/server/sampling-preset.ts'
import type { Bus, Shared } from '../../contract/server/shared.ts'
import type { SessionPictures } from '../../contract/server-tool.ts'
import type { Store, UsageDays } from '../../contract/store.ts'
import type { TemplateChoice } from '../../contract/template.ts'
import type { Tracing } from '../../contract/tracing.ts'
import type { Cancellations } from '../../core/cancel/cancellations.ts'
import type { PresetSwitch } from '../../core/presets/preset-switch.ts'
import type { AnswerDeps } from '../../core/tool-loop/deps.ts'
import type { UsageTimes } from '../../dialect/openai/times/encode-timings.ts'
import type { ReasoningFields } from '../../dialect/openai-chat/encode.ts'
import type { AccessRules } from '../access/access.ts'
import type { Capture, CapturedRequest } from '../capture/capture.ts'
import type { KeptStreams } from '../reply/kept-streams.ts'
import type { LimitReader } from '../reply/reply-headers.ts'
import type { Metrics } from './metrics.ts'

export type PageFile = {
  readonly type: string
  readonly etag: string
  readonly plain: Buffer
  /** Absent: it is compressed as it is. */
  readonly gzip?: Buffer
  readonly br?: Buffer
}

/** The page for people: a document, and the files that it loads. */
export type PageFiles = {
  /** Undefined for names that it does not have. */
  read(name: string): Promise<PageFile | undefined>
}

/** Tells other processes what an operator chose in this one, which does so already. */
export interface OperatorChoices {
  presetChosen(choice: PresetChoice): Promise<void>
  templateChosen(model: Pick<ServedModel, 'id' | 'engine'>, choice: TemplateChoice): Promise<void>
  /** `urls`: as the model has them. */
  serversDrained(drain: { readonly model: string; readonly urls: readonly string[]; readonly isDraining: boolean }): Promise<void>
}

/** Generating, and what every generation may use. */
export type Generating = AnswerDeps & {
  readonly presets: PresetSwitch
  /** Seals reasoning that clients keep and send back. */
  readonly sealerOf: SealerOf
  /** Converts recordings that are transcribed; absent: ffmpeg is not configured. */
  readonly recordings?: Pick<MediaConverter, 'recording'>
}

/** The models of this server, and how they come and go. */
export type Models = {
  readonly models: Catalogue
  /** The facts in the files of models. Absent: not available. */
  readonly modelFiles?: ModelFiles
  /** Loads and unloads models; absent: there are no routes for it. */
  readonly lifecycle?: Lifecycle
  /** Finds models to load; absent: they cannot be loaded. */
  readonly findOffers?: FindOffers
}

/** The requests that run and have ended: to cancel them, and to show, count and log them. */
export type Watching = {
  /** Milliseconds of a monotonic clock. */
  now(): number
  readonly cancellations: Cancellations
  /** All processes with the same store, and those of this server; absent: there is one. */
  readonly everyone?: Pick<Shared, 'publish' | 'subscribe' | 'lock'>
  /** The requests that run and have ended; absent: nobody watches. */
  readonly activity?: Activity
  /** Records spans of requests; absent: nothing is recorded. */
  readonly tracing?: Tracing
  readonly log: Logger
  readonly metrics: Metrics
}

/** What is kept for callers. */
export type Keeping = {
  /** Keeps responses and conversations; absent: nothing is kept. */
  readonly store?: Store
  /** Chat completions are kept unless a request has `store: false`. */
  readonly keepsCompletions?: boolean
  /** Keeps what callers upload; absent: uploads are off. */
  readonly files?: FileStore
  /** Runs requests that nobody waits for; absent: there is no store or no room for files. */
  readonly batches?: Batches
  /** Streams that their clients find again; absent: none are kept. */
  readonly streams?: KeptStreams
  /** What programs of the server's tools have made; absent: there are no such tools. */
  readonly pictures?: SessionPictures
}

/** Whether a stream without end continues: until this server drains, or the key of its caller has lost rights. */
export type GoesOn = (request: FastifyRequest) => Promise<boolean>

/** What operators see and choose. */
export type Operating = {
  readonly keys?: KeyDirectory
  /** What callers have used; absent: nothing is kept of it. */
  readonly usage?: Pick<UsageDays, 'read'>
  /** The models' use of this machine's memory. */
  memory?(): ReturnType<Residency['memory']>
  /** The GPUs that models use. */
  devices?(): Promise<readonly Device[]>
  readonly history?: History
  readonly lines?: LogLines
  /** The requests that `capture` has kept; absent: it keeps none. */
  readonly captures?: { find(requestId: string): Promise<Pick<CapturedRequest, 'path' | 'body'> | undefined> }
  /** Absent: what operators choose is for this process alone. */
  readonly choices?: OperatorChoices
  /** MLC-LLM's `debug_config` and its routes below `/debug` are there. */
  readonly debugs?: boolean
  /** The other processes of this server; absent: there is one. */
  readonly siblings?: Bus
}

export type Limits = LimitReader & {
  /** What is left of the budgets of a key. */
  readBudgets?(quota: KeyQuota): Promise<readonly BudgetState[]>
}

/** How replies are written. */
export type Replying = {
  readonly version: string
  /** False: a stream is sent in one piece, when it is complete. */
  readonly streaming?: boolean
  /** The silence after which a stream that begins now sends a heartbeat, 0: never; default 10 s. */
  heartbeatMs?(): number
  /** How long a client may read nothing before it is disconnected; default 30 minutes. */
  readonly stalledReaderMs?: number
  /** The field names of reasoning in chat replies; default both. */
  readonly reasoningFields?: ReasoningFields
  /** Whose times and rates `usage` has in OpenAI's protocols; absent: nobody's. */
  readonly usageTimes?: readonly UsageTimes[]
}

/** What is served, to whom, and how requests arrive. */
export type Listening = AccessRules & {
  /** Additional protocols, each with its path. */
  readonly dialects?: readonly { readonly path: string; readonly dialect: Dialect }[]
  /** The beginning of the paths of all routes, such as `/llm`; absent: none. */
  readonly basePath?: string
  /** The page for people; absent: browsers get a line that the server runs. */
  readonly page?: PageFiles
  /** How long a request may take to arrive completely; default 2 minutes. */
  readonly requestTimeoutMs?: number
  /** The maximum body size; default 32 MiB. */
  readonly bodyLimitBytes?: number
  /** The maximum size of the bodies of all requests in flight; default 256 MiB. */
  readonly totalBodyLimitBytes?: number
  /** Keeps each request, for operators that look for what a client sends; absent: none are kept. */
  readonly capture?: Capture
}

/** The dependencies of the HTTP layer, from the composition root: routes take the groups that they use. */
export type ServerDeps = Generating & Models & Watching & Keeping & Operating & Limits & Replying & Listening

/** OpenAI's `system_fingerprint`: it changes when the same seed may give another text. */
export function systemFingerprint({ version }: Pick<Replying, 'version'>): string {
  return `dragoman-${version}`
}
