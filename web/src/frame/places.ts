import type { ComponentType } from 'preact'
import type { IconName } from '../ui/icons.tsx'

export type Page = {
  /** Its part of the address: `#/chat`. */
  readonly id: string
  readonly title: string
  readonly icon: IconName
  /** The scope that a key needs for it. */
  readonly scope: 'inference' | 'metrics' | 'admin'
  /** Fetches its code when it is first opened. */
  readonly load: () => Promise<ComponentType>
}

/** The places, in the order of the navigation. */
export const places: readonly Page[] = [
  {
    id: 'chat',
    title: 'Chat',
    icon: 'chat',
    scope: 'inference',
    load: async () => (await import('../places/chat/chat.tsx')).Chat,
  },
  {
    id: 'models',
    title: 'Models',
    icon: 'models',
    scope: 'inference',
    load: async () => (await import('../places/models/models.tsx')).Models,
  },
  {
    id: 'activity',
    title: 'Activity',
    icon: 'activity',
    scope: 'inference',
    load: async () => (await import('../places/activity/activity.tsx')).Activity,
  },
  { id: 'keys', title: 'Keys', icon: 'keys', scope: 'admin', load: async () => (await import('../places/keys/keys.tsx')).Keys },
  { id: 'logs', title: 'Logs', icon: 'logs', scope: 'admin', load: async () => (await import('../places/logs/logs.tsx')).Logs },
  {
    id: 'overview',
    title: 'Overview',
    icon: 'overview',
    scope: 'metrics',
    load: async () => (await import('../places/overview/overview.tsx')).Overview,
  },
]
