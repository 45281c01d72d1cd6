import { describe } from '../../api/client.ts'
import { download } from '../../ui/download.ts'
import { say } from '../../ui/said.tsx'
import type { Conversation } from './conversation.ts'

export const exportKinds = ['json', 'md', 'html'] as const
export type ExportKind = (typeof exportKinds)[number]

const types: Readonly<Record<ExportKind, string>> = { json: 'application/json', md: 'text/markdown', html: 'text/html' }

/** Offers a file with conversations for download. */
export async function exportTo(kind: ExportKind, all: readonly Conversation[]): Promise<void> {
  try {
    const { title } = (all.length === 1 && all[0]) || { title: '' }
    download(new Blob([await textOf(kind, all)], { type: types[kind] }), `${fileName(title, all.length)}.${kind}`)
  } catch (error) {
    say(describe(error))
  }
}

/** The code of a form is loaded when it is asked for. */
async function textOf(kind: ExportKind, all: readonly Conversation[]): Promise<string> {
  switch (kind) {
    case 'json':
      return (await import('./formats/file.ts')).toFile(all)
    case 'md':
      return all.map((await import('./formats/to-markdown.ts')).toMarkdown).join('\n---\n\n')
    case 'html':
      return (await import('./formats/to-html.ts')).toHtml(all)
  }
}

/** Letters, digits and signs that every file system has. */
function fileName(title: string, count: number): string {
  const name = title
    .normalize('NFC')
    .replace(/[^\p{L}\p{N} .-]+/gu, '')
    .trim()
    .replace(/^\.+/, '')
    .slice(0, 60)
  return name === '' ? `conversation${count === 1 ? '' : 's'}` : name
}
