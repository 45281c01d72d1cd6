import type { TypedText } from '../terminal/message-lines.ts'

/** A line of a conversation: a message for the model, or a command for this program. */
export type ChatLine =
  | { readonly type: 'message'; readonly text: string }
  | { readonly type: 'help' | 'bye' | 'clear' | 'retry' }
  /** Without text, the system prompt is removed. */
  | { readonly type: 'system'; readonly text: string }
  /** Without a name, the settings are shown; without a value, the setting is removed. */
  | { readonly type: 'set'; readonly name: string; readonly value: string }
  | { readonly type: 'save' | 'load'; readonly file: string }
  | { readonly type: 'unknown'; readonly name: string }

type Command = Exclude<ChatLine['type'], 'message' | 'unknown'>

const names: Readonly<Record<string, Command>> = {
  '/help': 'help',
  '/?': 'help',
  '/bye': 'bye',
  '/exit': 'bye',
  '/quit': 'bye',
  '/clear': 'clear',
  '/retry': 'retry',
  '/system': 'system',
  '/set': 'set',
  '/save': 'save',
  '/load': 'load',
}

export const chatHelp = [
  '/set NAME VALUE  sets temperature, top_p, max_tokens …; without VALUE, removes it',
  '/set             shows what is set',
  '/system TEXT     sets the system prompt; without TEXT, removes it',
  '/save FILE       keeps the conversation and its settings in a file',
  '/load FILE       continues one',
  '/retry           asks the last message again',
  '/clear           forgets the conversation',
  '/bye             ends it, as Ctrl-D does (also /exit, /quit)',
  './cat.png        the path of an image in a message sends the image',
  '"""              begins and ends a message of several lines; a paste needs none',
  'Ctrl-C           stops an answer, discards a line, or ends the conversation',
].join('\n')

/**
 * Reads the user's input. Only a single word after the slash is a command: `/etc/hosts` is a message, and so is anything that begins with a
 * space. Several pasted lines are a command only for `/system` and `/set system`.
 */
export function readChatLine({ text, isQuoted }: TypedText): ChatLine {
  const [, name = '', rest = ''] = /^(\/[\w?-]+)(?:\s+([\s\S]*))?$/.exec(text.trimEnd()) ?? []
  const line = name === '' || isQuoted ? undefined : readCommand(name, rest.trim())
  if (line === undefined || (text.includes('\n') && line.type !== 'system')) {
    return { type: 'message', text: text.replace(/\n+$/, '') }
  }
  return line
}

function readCommand(name: string, rest: string): ChatLine {
  const type = Object.hasOwn(names, name) ? names[name] : undefined
  switch (type) {
    case undefined:
      return { type: 'unknown', name }
    case 'system':
      return { type, text: rest }
    case 'set': {
      const [, setting = '', value = ''] = /^(\S+)\s*([\s\S]*)$/.exec(rest) ?? []
      return setting === 'system' ? { type: 'system', text: value } : { type, name: setting, value }
    }
    case 'save':
    case 'load':
      return { type, file: rest }
    case 'help':
    case 'bye':
    case 'clear':
    case 'retry':
      return { type }
  }
}
