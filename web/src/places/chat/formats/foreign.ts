import type { Conversation, Message } from '../conversation.ts'
import { readConversation } from '../read-conversation.ts'

/** A message of another program, by what this page has of it. */
export type ForeignMessage = Partial<Message> & Pick<Message, 'id' | 'role' | 'text'>

type ForeignConversation = {
  readonly id: unknown
  readonly title: unknown
  readonly isPinned?: boolean
  readonly createdAtMs: number
  readonly updatedAtMs: number
  readonly system?: string
  readonly messages: readonly ForeignMessage[]
  /** The last message that its reader saw. */
  readonly current: string | undefined
}

/** Undefined: it has no message that can be shown. */
export function adopt({ id, messages, current, system = '', ...head }: ForeignConversation): Conversation | undefined {
  if (messages.length === 0) return undefined
  const byId = new Map(messages.map((message) => [message.id, message]))
  const chosen: [string, string][] = []
  const passed = new Set<string>()
  for (let next = current; next !== undefined && !passed.has(next); next = byId.get(next)?.parent) {
    passed.add(next)
    chosen.push([byId.get(next)?.parent ?? 'start', next])
  }
  return readConversation({
    ...head,
    id: typeof id === 'string' && /^[\w-]+$/.test(id) ? id : messages[0]?.id,
    settings: { system },
    messages: Object.fromEntries(messages.map((message) => [message.id, message])),
    chosen: Object.fromEntries(chosen),
  })
}

/** Seconds since 1970, with or without a fraction, or milliseconds. */
export function msOf(value: unknown): number {
  if (typeof value !== 'number') return 0
  return Math.round(value < 1e11 ? value * 1000 : value)
}

export const textOf = (value: unknown) => (typeof value === 'string' ? value : '')
