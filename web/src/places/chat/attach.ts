import { chatTexts } from '../../texts/chat.ts'
import type { Attachment } from './conversation.ts'

const maxBytes = 20_000_000

/** The files that can be attached, and why the others cannot. */
export async function readFiles(files: readonly File[]): Promise<{ attachments: Attachment[]; refused: string[] }> {
  const attachments: Attachment[] = []
  const refused: string[] = []
  for (const file of files) {
    const { name, type, size } = file
    const kind = kindOf(file)
    if (size > maxBytes) refused.push(chatTexts.tooLarge(name))
    else if (kind === undefined) refused.push(chatTexts.notReadable(name, type))
    else
      attachments.push({
        kind,
        name: name === '' ? kind : name,
        type,
        data: kind === 'text' ? await file.text() : await asDataUrl(file),
      })
  }
  return { attachments, refused }
}

function kindOf({ type, name }: File): Attachment['kind'] | undefined {
  // A drawing is text: it may have scripts.
  if (type.startsWith('image/') && type !== 'image/svg+xml') return 'image'
  if (type.startsWith('audio/')) return 'audio'
  const isText = /^text\/|json|xml|yaml|javascript|typescript|toml|sql/.test(type)
  return isText ||
    /\.(md|txt|csv|tsv|json|ya?ml|toml|ini|log|[cm]?[jt]sx?|py|rs|go|java|c|h|cpp|sh|css|html|sql|diff|patch)$/i.test(name)
    ? 'text'
    : undefined
}

function asDataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(file)
  })
}
