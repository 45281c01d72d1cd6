import type { Conversation } from './conversation.ts'

const format = 'dragoman-conversations'

/** A file with conversations, to keep or to take elsewhere. */
export function toFile(conversations: readonly Conversation[]): string {
  return JSON.stringify({ format, version: 1, conversations }, null, 1)
}

/** The conversations of such a file. Throws what is wrong with it. */
export function fromFile(text: string): readonly Conversation[] {
  let file: { readonly format?: unknown; readonly conversations?: unknown }
  try {
    file = JSON.parse(text) as typeof file
  } catch {
    throw new Error('This file is not JSON: choose one that was exported here.')
  }
  if (file?.format !== format || !Array.isArray(file.conversations)) {
    throw new Error(`This file has no conversations: its "format" must be "${format}".`)
  }
  const wrong = file.conversations.findIndex((each) => !isConversation(each))
  if (wrong >= 0) throw new Error(`Conversation ${wrong + 1} of this file is not complete; nothing was imported.`)
  return file.conversations as Conversation[]
}

function isConversation(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { id, title, settings, messages, chosen } = value as Record<string, unknown>
  const areObjects = [settings, messages, chosen].every((each) => typeof each === 'object' && each !== null)
  return typeof id === 'string' && typeof title === 'string' && areObjects && Object.values(messages as object).every(isMessage)
}

function isMessage(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { id, role, text } = value as Record<string, unknown>
  return typeof id === 'string' && (role === 'user' || role === 'assistant') && typeof text === 'string'
}
