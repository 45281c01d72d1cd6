import { chatTexts } from '../../../texts/chat.ts'
import { type Attachment, type Conversation, type Message, pathOf, type ToolCall } from '../conversation.ts'

/** The visible branch of a conversation as Markdown; what models wrote stays as it is. */
export function toMarkdown(conversation: Conversation): string {
  const { title, settings } = conversation
  const system = settings.system.trim() === '' ? [] : [`## ${chatTexts.drawer.system}`, settings.system.trim()]
  const messages = pathOf(conversation).flatMap(sectionsOf)
  return `${[`# ${oneLine(title) || chatTexts.untitled}`, ...system, ...messages].join('\n\n')}\n`
}

function sectionsOf(message: Message): readonly string[] {
  const { role, text, model, reasoning, calls = [], attachments = [] } = message
  const who = role === 'user' ? chatTexts.you : oneLine(model ?? chatTexts.assistant)
  return [
    `## ${who}`,
    ...attachments.map(attachmentOf),
    ...(reasoning === undefined ? [] : [quoted(`${chatTexts.thinking}\n\n${reasoning.trim()}`)]),
    ...calls.flatMap(callOf),
    ...(text.trim() === '' ? [] : [text.trim()]),
  ]
}

function attachmentOf({ kind, name, data }: Attachment): string {
  const label = oneLine(name).replace(/[[\]\\]/g, '\\$&')
  if (kind === 'image') return `![${label}](${data})`
  return kind === 'audio' ? `[${label}](${data})` : `${label}:\n\n${fenced(data)}`
}

function callOf({ name, input, result, by }: ToolCall): readonly string[] {
  return [
    chatTexts.tool(oneLine(name), by === 'server'),
    fenced(input, 'json'),
    ...(result === undefined ? [] : [`${chatTexts.toolResult}:`, fenced(result)]),
  ]
}

/** A block of code, with more backticks than the text has. */
export function fenced(text: string, language = ''): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([found]) => found.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text.replace(/\n$/, '')}\n${fence}`
}

const quoted = (text: string) => text.replace(/^/gm, '> ')
const oneLine = (text: string) => text.replace(/\s+/g, ' ').trim()
