import type { Target } from '../wire/chat-body.ts'
import type { Discovery } from './probe.ts'
import { type Profile, profiles } from './profiles.ts'

/** What a server can do: what its kind can, except where it was seen to be otherwise. */
export function profileOf({ profile, abilities }: Pick<Discovery, 'profile' | 'abilities'>): Profile {
  const { usageInStreams: _, ...seen } = abilities
  return { ...profiles[profile], ...seen }
}

const targets = new WeakMap<Discovery, Target>()

/** What requests to a server are made for: the same object for the same discovery. */
export function targetOf(discovery: Discovery): Target {
  const known = targets.get(discovery)
  if (known !== undefined) return known
  const { model, thinkingSwitch, contextLength, modalities } = discovery
  const target = {
    profile: profileOf(discovery),
    model,
    ...(thinkingSwitch !== undefined && { thinkingSwitch }),
    ...(contextLength !== undefined && { contextLength }),
    ...(modalities !== undefined && { modalities }),
  }
  targets.set(discovery, target)
  return target
}
