import type { Conversation, Message } from '../conversation.ts'

/** A conversation without its messages. */
export type Head = Omit<Conversation, 'messages'>

type Patch<T> = { readonly [Name in keyof T]?: T[Name] | undefined }

/**
 * What somebody has changed. Changes of different fields, choices and messages are independent: applied in any order, they give the same
 * conversation; of two changes of the same thing, the later one stays.
 */
export type Change = {
  readonly fields: Patch<Omit<Head, 'settings' | 'chosen'>>
  readonly settings: Patch<Head['settings']>
  readonly chosen: Patch<Head['chosen']>
  readonly messages: readonly Message[]
}

export function changeOf(before: Conversation, next: Conversation): Change {
  const { settings, chosen, messages, ...fields } = next
  const { settings: settingsBefore, chosen: chosenBefore, messages: messagesBefore, ...fieldsBefore } = before
  return {
    fields: patchOf(fieldsBefore, fields),
    settings: patchOf(settingsBefore, settings),
    chosen: patchOf(chosenBefore, chosen),
    messages: Object.values(messages).filter((message) => messagesBefore[message.id] !== message),
  }
}

export function changesNothing({ fields, settings, chosen, messages }: Change): boolean {
  return messages.length === 0 && [fields, settings, chosen].every((patch) => Object.keys(patch).length === 0)
}

export function changedHead(head: Head, { fields, settings, chosen }: Change): Head {
  return {
    ...patched(head, fields),
    // A message of another tab may be newer.
    updatedAtMs: Math.max(head.updatedAtMs, fields.updatedAtMs ?? 0),
    settings: patched(head.settings, settings),
    chosen: patched(head.chosen, chosen),
  }
}

export function changed(conversation: Conversation, change: Change): Conversation {
  const { messages, ...head } = conversation
  const merged = change.messages.filter((message) => supersedes(message, messages[message.id]))
  return {
    ...changedHead(head, change),
    messages: merged.length === 0 ? messages : { ...messages, ...byId(merged) },
  }
}

/**
 * Whether a message replaces the present one: a deleted one stays deleted, and an answer that has ended does not run again because another
 * tab has not heard of its end.
 */
export function supersedes(message: Message, present: Message | undefined): boolean {
  if (present?.isDeleted === true) return message.isDeleted === true
  const isLate = message.state === 'running' && present?.state !== 'running' && message.run?.id === present?.run?.id
  return present === undefined || message.isDeleted === true || !isLate
}

export function byId(messages: readonly Message[]): Conversation['messages'] {
  return Object.fromEntries(messages.map((message) => [message.id, message]))
}

/** Undefined stands for a field that is absent now. */
function patchOf<T extends object>(before: T, next: T): Patch<T> {
  const names = new Set([...Object.keys(before), ...Object.keys(next)])
  const entries = [...names].map((name) => [name, Reflect.get(next, name)] as const)
  return Object.fromEntries(entries.filter(([name, value]) => Reflect.get(before, name) !== value)) as Patch<T>
}

function patched<T extends object>(value: T, patch: Patch<T>): T {
  return Object.fromEntries(Object.entries({ ...value, ...patch }).filter(([, each]) => each !== undefined)) as T
}
