import { markdownTable } from '../markdown-table.ts'
import { messagesStrictness } from './anthropic.ts'
import { stackStrictness } from './llama-stack.ts'
import { ollamaChatStrictness, ollamaEmbedStrictness, ollamaGenerateStrictness } from './ollama.ts'
import { chatStrictness } from './openai-chat.ts'
import { completionStrictness } from './openai-completions.ts'
import { embeddingStrictness } from './openai-embeddings.ts'
import { responseStrictness } from './openai-responses.ts'
import type { StrictnessRow, StrictnessTable } from './row.ts'
import { tabbyDownloadStrictness, tabbyLoadStrictness, tabbyLoraStrictness } from './tabby.ts'
import { unslothGenerateStrictness, unslothLoadStrictness } from './unsloth.ts'

/** The tables of all dialects. */
export const strictnessTables = {
  'openai-chat': chatStrictness,
  'openai-responses': responseStrictness,
  anthropic: messagesStrictness,
  'llama-stack': stackStrictness,
  'openai-completions': completionStrictness,
  'openai-embeddings': embeddingStrictness,
  'ollama-chat': ollamaChatStrictness,
  'ollama-generate': ollamaGenerateStrictness,
  'ollama-embed': ollamaEmbedStrictness,
  'unsloth-load': unslothLoadStrictness,
  'unsloth-generate': unslothGenerateStrictness,
  'tabby-load': tabbyLoadStrictness,
  'tabby-lora': tabbyLoraStrictness,
  'tabby-download': tabbyDownloadStrictness,
} as const satisfies Readonly<Record<string, StrictnessTable>>

const introduction = `# Strictness

What Dragoman does with requests that break the rules of their protocol, or use a part of it that servers treat differently. A test sends
each row's sample through the protocol's decoder.

- **tolerated**: accepted, and passed on as it is.
- **healed**: taken for what it means, or left out.
- **refused**: HTTP 400 with the place in \`param\` (in Anthropic's protocol: in the message).

What is tolerated or healed without an effect is named in \`x-dragoman-ignored\`. [protocols.md](protocols.md) has the fields of each
request.
`

/** The content of `docs/reference/strictness.md`. */
export function renderStrictness(): string {
  return [introduction, ...Object.values(strictnessTables).map(renderTable)].join('\n')
}

function renderTable({ title, rows }: StrictnessTable): string {
  const header = ['what is sent', 'outcome', 'note']
  return `## ${title}\n\n${markdownTable(
    header,
    rows.map((row) => [row.what, describeOutcome(row), row.note]),
  )}`
}

function describeOutcome(row: StrictnessRow): string {
  if (row.outcome === 'refused') return `refused: \`${row.param}\``
  return row.ignored === undefined
    ? row.outcome
    : `${row.outcome}, listed: ${row.ignored.map((name) => `\`${name}\``).join(', ')}`
}
