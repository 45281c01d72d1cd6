import type { Conversation, Message } from '../conversation.ts'
import { readConversation } from '../read-conversation.ts'

const format = 'dragoman-conversations'

/** A file with conversations, to keep or to move elsewhere. */
export function toFile(conversations: readonly Conversation[]): string {
  return JSON.stringify({ format, version: 1, conversations }, null, 1)
}

/** The conversations of such a file. Throws if it is invalid. */
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
  return file.conversations.map((each, index) => {
    const read = readConversation(each)
    if (read === undefined) {
      const needs = 'needs messages, and an id of letters, digits, "-" and "_"'
      throw new Error(`Conversation ${index + 1} of this file ${needs}; nothing was imported.`)
    }
    return here(read)
  })
}

/**
 * Whether tools run without a question is for the person at this page to decide, not for the author of the file; and the streams of its
 * answers were another page's.
 */
function here({ settings: { serverTools, ...settings }, messages, ...conversation }: Conversation): Conversation {
  return {
    ...conversation,
    settings: { ...settings, ...(serverTools && { serverTools: { ...serverTools, asks: true } }) },
    messages: Object.fromEntries(Object.entries(messages).map(([id, message]) => [id, ended(message)])),
  }
}

function ended({ run: _, ...message }: Message): Message {
  return message.state === 'running' ? { ...message, state: 'broken' } : message
}
