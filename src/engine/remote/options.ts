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
import type { CheckNews, EjectionNews } from './fleet/other-processes.ts'
import type { WarmUp } from './fleet/shares/shares.ts'
import type { OwnTemplate } from './own-prompts.ts'
import type { CallHeaderOptions } from './servers/call-headers.ts'
import type { ProfileName, Protocol } from './servers/profile.ts'
import type { RouterKind } from './servers/router-kinds.ts'

/** The servers of a model, and how they are used. */
export type RemoteEngineOptions = FormatSettings & {
  readonly id: string
  /** The servers, or the source that lists them, whose set may change. */
  readonly endpoints: readonly FoundEndpoint[] | EndpointSource
  /** The time for which the requests of a removed server may continue there. Afterwards they are continued elsewhere. 30 s by default. */
  readonly drainMs?: number
  /** How long a request waits for a server while there are none. Five minutes by default. */
  readonly holdMs?: number
  /** Absent: the servers are probed. */
  readonly profile?: ProfileName
  /** The protocol of conversations. Absent: the usual one of the kind of server, or the one that it supports. */
  readonly protocol?: Protocol
  /** The servers' name for the model. Absent: our id, or a server's only model. */
  readonly upstreamModel?: string
  readonly contextLength?: number
  /** For servers that accept only text: reads the model's chat template, which they need not report. Undefined: they report it. */
  readonly readTemplate?: () => Promise<OwnTemplate | undefined>
  /** Whether those servers put the BOS token before a prompt. Absent: as the model's tokenizer does. */
  readonly addsBos?: boolean
  /** Defaults for sampling parameters that a request omits. */
  readonly sampling?: Sampling
  /** The adapters of a llama-server in its order. Each request names those that it uses. */
  readonly adapters?: readonly Adapter[]
  /** Converts media that the servers cannot decode. Absent: media are sent as they are. */
  readonly converter?: MediaConverter
  /** Adjacent media get a line break between them. */
  readonly separatesMedia?: boolean
  /** The services that the servers offer besides language. */
  readonly services?: readonly ServiceKind[]
  /** How long a reply may stop before its request ends: it moves earlier where it can. Absent: for ever. */
  readonly stallMs?: number
  /** Parallel requests for each server. */
  readonly connections: number
  /** Whether servers of unknown kind are probed with small requests. False by default. */
  readonly probesAbilities?: boolean
  /** The server is a child of this process: it certainly enforces the grammars that it gets, and nothing is in between. */
  readonly isOwnServer?: true
  /** If the template's default is off, servers that would think by default get a request not to. */
  readonly followsTemplate?: boolean
  /** Notified of the outcomes of attempts, and of failing servers. */
  readonly observer?: FleetObserver
  /** The kind of router that the endpoints are. Absent: any. */
  readonly router?: RouterKind
  /** The objectives that are sent to a router, by lane. */
  readonly objectives?: CallHeaderOptions['objectives']
  /** Hashes session names for routers. Absent: with a key of this process only. */
  readonly hash?: CallHeaderOptions['hash']
  /** The URLs of servers that an operator has taken out of use. */
  readonly drains?: WatchedSet<string>
  /** Exchanges check results with other processes. Absent: there are none. */
  readonly checkNews?: CheckNews
  /** Exchanges ejections with other processes. Absent: there are none. */
  readonly ejectionNews?: EjectionNews
  /** How new or returning servers begin. Absent: with all of their load. */
  readonly warmUp?: WarmUp
  /** How strongly requests prefer replicas with their prompts. Absent: the defaults of `Affinity`. */
  readonly affinity?: AffinityOptions | 'off'
  readonly log: Logger
  now?(): number
  random?(): number
}
