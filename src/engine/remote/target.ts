import type { Target } from './chat-body.ts'
import type { Discovery } from './probe.ts'
import { type Profile, profiles } from './profiles.ts'

/** What a server can do: what its kind can, except where it was seen to be otherwise. */
export function profileOf({ profile, abilities }: Pick<Discovery, 'profile' | 'abilities'>): Profile {
  const { usageInStreams: _, ...seen } = abilities
  return { ...profiles[profile], ...seen }
}

/** What requests to a server are made for. */
export function targetOf(discovery: Discovery): Target {
  const { model, thinkingSwitch } = discovery
  return { profile: profileOf(discovery), model, ...(thinkingSwitch !== undefined && { thinkingSwitch }) }
}
