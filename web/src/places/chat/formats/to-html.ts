import { micromark } from 'micromark'
import { gfm, gfmHtml } from 'micromark-extension-gfm'
import { chatTexts } from '../../../texts/chat.ts'
import { type Attachment, type Conversation, type Message, pathOf, type ToolCall } from '../conversation.ts'
import { BlockSplitter } from '../markdown/blocks.ts'
import { formulas, formulasHtml } from '../markdown/formula-syntax.ts'

/** A longer block is shown as it was written: parsing may take time quadratic in its length. */
const longestBlock = 8000

const style = `body{max-width:45rem;margin:2rem auto;padding:0 1rem;font:1rem/1.5 system-ui,sans-serif;color-scheme:light dark}
section{margin:2rem 0}h2{font-size:1rem}pre{overflow-x:auto;padding:.75rem;background:#8881;white-space:pre-wrap}
img{max-width:100%}table{border-collapse:collapse}th,td{border:1px solid #8886;padding:.25rem .5rem}
blockquote,details{border-left:3px solid #8886;margin-left:0;padding-left:1rem}`

/** The visible branches of conversations as one page, which needs nothing else and runs nothing. */
export function toHtml(all: readonly Conversation[]): string {
  const [first] = all
  const title = all.length === 1 && first !== undefined ? first.title || chatTexts.untitled : chatTexts.list
  return `<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="content-security-policy" content="default-src 'none'; img-src data:; media-src data:; style-src 'unsafe-inline'">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
${all.map(conversationHtml).join('\n<hr>\n')}
</body>
</html>
`
}

function conversationHtml(conversation: Conversation): string {
  const { title, settings } = conversation
  const { system } = settings
  return [
    `<h1>${escaped(title || chatTexts.untitled)}</h1>`,
    ...(system.trim() === '' ? [] : [`<section><h2>${chatTexts.drawer.system}</h2>${plain(system)}</section>`]),
    ...pathOf(conversation).map(messageHtml),
  ].join('\n')
}

function messageHtml({ role, text, model, atMs, reasoning, calls = [], attachments = [] }: Message): string {
  const who = role === 'user' ? chatTexts.you : (model ?? chatTexts.assistant)
  const time = new Date(atMs).toISOString()
  return `<section>
<h2>${escaped(who)} <small><time datetime="${time}">${time.slice(0, 16).replace('T', ' ')}</time></small></h2>
${attachments.map(attachmentHtml).join('')}${reasoning === undefined ? '' : folded(chatTexts.thinking, plain(reasoning))}
${calls.map(callHtml).join('')}${role === 'user' ? plain(text) : markdown(text)}
</section>`
}

function attachmentHtml({ kind, name, data }: Attachment): string {
  if (kind === 'image') return `<p><img src="${escaped(data)}" alt="${escaped(name)}"></p>`
  if (kind === 'audio') return `<p><audio controls src="${escaped(data)}"></audio> ${escaped(name)}</p>`
  return folded(name, plain(data))
}

function callHtml({ name, input, result, by }: ToolCall): string {
  return folded(chatTexts.tool(name, by === 'server'), plain(input) + (result === undefined ? '' : plain(result)))
}

/** Micromark leaves HTML, scripts and unsafe links out. Formulas stay as they were written. */
function markdown(text: string): string {
  const splitter = new BlockSplitter()
  splitter.append(text)
  const blocks = [...splitter.closed, splitter.open]
  return blocks
    .map((block) =>
      block.length > longestBlock
        ? plain(block)
        : micromark(block, { extensions: [gfm(), formulas(false)], htmlExtensions: [gfmHtml(), formulasHtml] }),
    )
    .join('\n')
}

const plain = (text: string) => (text === '' ? '' : `<pre>${escaped(text)}</pre>\n`)
const folded = (name: string, html: string) => `<details><summary>${escaped(name)}</summary>${html}</details>\n`

const signs: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => signs[sign] ?? sign)
}
