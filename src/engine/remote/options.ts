import type { Logger } from 'pino'
import type { WatchedSet } from '../../base/watched-set.ts'
import type { FleetObserver } from '../../contract/attempts.ts'
import type { Adapter } from '../../contract/engine.ts'
import type { MediaConverter } from '../../contract/media.ts'
import type { FormatSettings } from '../../contract/output-format.ts'
import type { Sampling } from '../../contract/sampling.ts'
import type { ServiceKind } from '../../contract/services.ts'
import type { EndpointSource, FoundEndpoint } from './endpoints/source.ts'
import type { AffinityOptions } from './fleet/affinity/affinity.ts'
import type { CheckNews } from './fleet/check-news.ts'
import type { WarmUp } from './fleet/shares/shares.ts'
import type { OwnTemplate } from './own-prompts.ts'
import type { CallHeaderOptions } from './servers/call-headers.ts'
import type { ProfileName, Protocol } from './servers/profile.ts'
import type { RouterKind } from './servers/router-kinds.ts'

/** The servers of a model, and how they are used. */
export type RemoteEngineOptions = FormatSettings & {
  readonly id: string
  /** The servers, or where they come from; they may change then. */
  readonly endpoints: readonly FoundEndpoint[] | EndpointSource
  /** For the requests of a server that has left; then they are continued elsewhere. 30 s by default. */
  readonly drainMs?: number
  /** How long a request waits while there are no servers. Five minutes by default. */
  readonly holdMs?: number
  /** Absent: the servers are probed. */
  readonly profile?: ProfileName
  /** The protocol of conversations; absent: that of the kind of server, or the one that it has. */
  readonly protocol?: Protocol
  /** The servers' name for the model; absent: our id, or the only model that a server has. */
  readonly upstreamModel?: string
  readonly contextLength?: number
  /** For servers that take texts only: reads the model's chat template, which they need not report; undefined: they do. */
  readonly readTemplate?: () => Promise<OwnTemplate | undefined>
  /** Whether those servers put the BOS token before a prompt; absent: as the model's tokenizer does. */
  readonly addsBos?: boolean
  /** Defaults for what a request leaves open. */
  readonly sampling?: Sampling
  /** The adapters of a llama-server, in its order: each request says which are used. */
  readonly adapters?: readonly Adapter[]
  /** Converts media that the servers cannot decode; absent: they get them as they are. */
  readonly converter?: MediaConverter
  /** Media that follow each other get a line break between them. */
  readonly separatesMedia?: boolean
  /** What the servers do besides language. */
  readonly services?: readonly ServiceKind[]
  /** Parallel requests for each server. */
  readonly connections: number
  /** Whether servers of unknown kind are probed with small requests; false by default. */
  readonly probesAbilities?: boolean
  /** The server is a child of this process: it is known to enforce the grammars that it gets, and nothing lies on the way to it. */
  readonly isOwnServer?: true
  /** Servers that think unless they are told not to are told so where their template's default is off. */
  readonly followsTemplate?: boolean
  /** Hears what becomes of attempts, and of servers that fail. */
  readonly observer?: FleetObserver
  /** What the endpoints are that balance themselves; absent: any of them. */
  readonly router?: RouterKind
  /** The objectives that are sent to a router, by lane. */
  readonly objectives?: CallHeaderOptions['objectives']
  /** Names sessions to routers; absent: as no other process does. */
  readonly hash?: CallHeaderOptions['hash']
  /** The URLs of servers that an operator has taken out of use. */
  readonly drains?: WatchedSet<string>
  /** What other processes find out about the servers; absent: there are none. */
  readonly checkNews?: CheckNews
  /** How servers that are new or back begin; absent: with all of their load. */
  readonly warmUp?: WarmUp
  /** How far requests follow their prompts; absent: as `Affinity` has it. */
  readonly affinity?: AffinityOptions | 'off'
  readonly log: Logger
  now?(): number
  random?(): number
}
