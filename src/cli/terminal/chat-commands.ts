import type { TypedText } from './message-lines.ts'

/** A line of a conversation: a message for the model, or a command for this program. */
export type ChatLine =
  | { readonly type: 'message'; readonly text: string }
  | { readonly type: 'help' | 'bye' | 'clear' }
  /** Without text, the system prompt is removed. */
  | { readonly type: 'system'; readonly text: string }
  | { readonly type: 'unknown'; readonly name: string }

const names: Readonly<Record<string, 'help' | 'bye' | 'clear' | 'system'>> = {
  '/help': 'help',
  '/?': 'help',
  '/bye': 'bye',
  '/exit': 'bye',
  '/quit': 'bye',
  '/clear': 'clear',
  '/system': 'system',
}

export const chatHelp = [
  '/system TEXT   sets the system prompt; without TEXT, removes it',
  '/clear         forgets the conversation',
  '/bye           ends it, as Ctrl-D does (also /exit, /quit)',
  '"""            begins and ends a message of several lines; a paste needs none',
  'Ctrl-C         stops an answer',
].join('\n')

/**
 * Reads what the user sent. Only one word behind the slash is a command: `/etc/hosts` is a message, and so is all that begins with a space.
 * Of several lines, which were pasted, only `/system` is one.
 */
export function readChatLine({ text, isQuoted }: TypedText): ChatLine {
  const [, name = '', rest = ''] = /^(\/[\w?-]+)(?:\s+([\s\S]*))?$/.exec(text.trimEnd()) ?? []
  const type = Object.hasOwn(names, name) ? names[name] : undefined
  const isPasted = text.includes('\n') && type !== 'system'
  if (name === '' || isQuoted || isPasted) return { type: 'message', text: text.replace(/\n+$/, '') }
  if (type === undefined) return { type: 'unknown', name }
  return type === 'system' ? { type, text: rest.trim() } : { type }
}
