import type { Prompt } from '../../../contract/request.ts'
import type { ThinkingSwitch } from '../../../model-text/template/reasoning-variables.ts'
import { templateOf } from '../../shared/template-choice.ts'
import type { Endpoint, UpstreamClient } from '../transport/client.ts'
import type { Abilities } from './abilities.ts'
import { type Passage, throughRouter } from './passage.ts'
import type { Profile, ProfileName, Protocol } from './profile.ts'
import { profileIn } from './protocols.ts'
import type { SpecialTokens } from './special-tokens.ts'

type Modalities = { readonly image: boolean; readonly audio: boolean; readonly video?: boolean; readonly file?: boolean }

/** The results of probing a server. */
export type Discovery = {
  readonly profile: ProfileName
  readonly protocol: Protocol
  /** The version that the server reports. A change causes a new probe. */
  readonly version: string | undefined
  /** The server's name for the model. */
  readonly model: string
  readonly contextLength: number | undefined
  readonly outputLength: number | undefined
  /** The requests that the server computes at the same time. Absent if it does not report them. */
  readonly slots?: number
  readonly chatTemplate: string | undefined
  /** For its template. Absent if the server does not report them. */
  readonly tokens?: SpecialTokens
  readonly thinkingSwitch: ThinkingSwitch | undefined
  /** Switch thinking off for requests that leave it open. */
  readonly isThinkingOff?: boolean
  /** Observed abilities. They override the profile's. */
  readonly abilities: Abilities
  /** The features that a router passes on to its engines. */
  readonly passes?: Passage
  /** The server lists models, but not the configured one. */
  readonly unlisted?: string
  /** Undefined if the server does not report them. */
  readonly modalities: Modalities | undefined
}

/** A server of the fleet and its abilities, which determine how requests to it are written. */
export type Upstream = {
  readonly profile: Profile
  /** The server's name for the model. */
  readonly model: string
  /** The template variable that turns thinking on and off, if known. */
  readonly thinkingSwitch?: ThinkingSwitch
  /** Switch thinking off for requests that leave it open. */
  readonly isThinkingOff?: boolean
  /** The most tokens of one request. Absent if the server does not report it. */
  readonly contextLength?: number
  /** The most tokens of one output. Absent if the server does not report it. */
  readonly outputLength?: number
  /** The requests that it computes at the same time. Absent if it does not report them. */
  readonly slots?: number
  /** Absent if the server does not report them. */
  readonly modalities?: Modalities
}

/** An upstream and the means to send it one request. */
export type UpstreamAccess = {
  readonly client: UpstreamClient
  readonly endpoint: Endpoint
  readonly upstream: Upstream
  /** The headers about the origin of the request. */
  readonly headers?: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** Whether two discoveries are of the same version of the same server, so that its abilities need not be probed again. */
export function isSameServer(one: Discovery, other: Discovery): boolean {
  return (
    one.profile === other.profile && one.protocol === other.protocol && one.version === other.version && one.model === other.model
  )
}

/** The profile of a server's kind in its protocol, with the observed abilities, without the features that a router drops. */
export function profileOf({
  profile,
  protocol,
  abilities,
  passes,
  version,
}: Pick<Discovery, 'profile' | 'protocol' | 'abilities' | 'passes'> & Partial<Pick<Discovery, 'version'>>): Profile {
  const { usageInStreams: _, ...observed } = abilities
  const kind = profileIn(profile, protocol)
  const known = { ...kind, ...(kind.since !== undefined && isSince(kind.since, version) && kind.since.has), ...observed }
  return passes === undefined ? known : throughRouter(known, passes)
}

function isSince({ version: first }: NonNullable<Profile['since']>, version = ''): boolean {
  const [, numbers] = /^v?(\d+(?:\.\d+)*)/.exec(version) ?? []
  if (numbers === undefined) return false
  const parts = numbers.split('.').map(Number)
  const at = first.findIndex((part, index) => part !== (parts[index] ?? 0))
  return at === -1 || (parts[at] ?? 0) > (first[at] ?? 0)
}

/** The discovery to use for a request, which may name the template of its conversation. */
export function underTemplate(discovery: Discovery, prompt: Prompt): Discovery {
  const template = templateOf(prompt)
  return template?.type === 'named' ? { ...discovery, chatTemplate: template.source } : discovery
}

/** The abilities of a server, according to its discovery. */
export function upstreamOf(discovery: Discovery): Upstream {
  const { model, thinkingSwitch, isThinkingOff, contextLength, outputLength, slots, modalities } = discovery
  return {
    profile: profileOf(discovery),
    model,
    ...(thinkingSwitch !== undefined && { thinkingSwitch }),
    ...(isThinkingOff === true && { isThinkingOff }),
    ...(contextLength !== undefined && { contextLength }),
    ...(outputLength !== undefined && { outputLength }),
    ...(slots !== undefined && { slots }),
    ...(modalities !== undefined && { modalities }),
  }
}
