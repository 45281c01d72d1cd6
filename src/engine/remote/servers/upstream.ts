import type { Prompt } from '../../../contract/request.ts'
import type { ThinkingSwitch } from '../../../model-text/template/reasoning-variables.ts'
import { templateOf } from '../../shared/template-choice.ts'
import type { Endpoint, UpstreamClient } from '../transport/client.ts'
import type { Abilities } from './abilities.ts'
import { type Passage, throughRouter } from './passage.ts'
import type { Profile, ProfileName, Protocol } from './profile.ts'
import { profileIn } from './protocols.ts'

type Modalities = { readonly image: boolean; readonly audio: boolean; readonly video?: boolean; readonly file?: boolean }

/** What a probe found out about a server. */
export type Discovery = {
  readonly profile: ProfileName
  readonly protocol: Protocol
  /** The version that the server reports; when it changes, the server is probed again. */
  readonly version: string | undefined
  /** The server's name for the model. */
  readonly model: string
  readonly contextLength: number | undefined
  readonly outputLength: number | undefined
  readonly chatTemplate: string | undefined
  readonly thinkingSwitch: ThinkingSwitch | undefined
  /** A request that says nothing of thinking is to switch it off. */
  readonly isThinkingOff?: boolean
  /** Observed abilities; they override the profile's. */
  readonly abilities: Abilities
  /** What a router passes on to its engines. */
  readonly passes?: Passage
  /** The server lists models, but not the configured one. */
  readonly unlisted?: string
  /** Undefined when the server does not report them. */
  readonly modalities: Modalities | undefined
}

/** A server of the fleet and what it can do: what requests to it are written for. */
export type Upstream = {
  readonly profile: Profile
  /** The server's name for the model. */
  readonly model: string
  /** The template variable that turns thinking on and off, where known. */
  readonly thinkingSwitch?: ThinkingSwitch
  /** A request that says nothing of thinking is to switch it off. */
  readonly isThinkingOff?: boolean
  /** The most tokens of one request; absent when the server does not report it. */
  readonly contextLength?: number
  /** The most tokens of one output; absent when the server does not report it. */
  readonly outputLength?: number
  /** Absent when the server does not report them. */
  readonly modalities?: Modalities
}

/** An upstream and the means to send it one request. */
export type UpstreamAccess = {
  readonly client: UpstreamClient
  readonly endpoint: Endpoint
  readonly upstream: Upstream
  /** What the request says of where it comes from. */
  readonly headers?: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** Whether two discoveries are of the same version of the same server, so that its abilities need not be probed again. */
export function isSameServer(one: Discovery, other: Discovery): boolean {
  return (
    one.profile === other.profile && one.protocol === other.protocol && one.version === other.version && one.model === other.model
  )
}

/** The profile of a server's kind, in its protocol, with the observed abilities, and without what does not arrive. */
export function profileOf({
  profile,
  protocol,
  abilities,
  passes,
}: Pick<Discovery, 'profile' | 'protocol' | 'abilities' | 'passes'>): Profile {
  const { usageInStreams: _, ...observed } = abilities
  const known = { ...profileIn(profile, protocol), ...observed }
  return passes === undefined ? known : throughRouter(known, passes)
}

/** A discovery as it is for a request, which may name the template that its conversation is rendered with. */
export function underTemplate(discovery: Discovery, prompt: Prompt): Discovery {
  const template = templateOf(prompt)
  return template?.type === 'named' ? { ...discovery, chatTemplate: template.source } : discovery
}

/** What a server can do, by what a probe found out about it. */
export function upstreamOf(discovery: Discovery): Upstream {
  const { model, thinkingSwitch, isThinkingOff, contextLength, outputLength, modalities } = discovery
  return {
    profile: profileOf(discovery),
    model,
    ...(thinkingSwitch !== undefined && { thinkingSwitch }),
    ...(isThinkingOff === true && { isThinkingOff }),
    ...(contextLength !== undefined && { contextLength }),
    ...(outputLength !== undefined && { outputLength }),
    ...(modalities !== undefined && { modalities }),
  }
}
