import { chatTexts } from '../../../texts/chat.ts'
import type { Attachment } from '../conversation.ts'
import { readFile } from './read-file.ts'

const maxBytes = 20_000_000
/** A longer paste becomes a file, so that the message stays readable. */
const maxPasteChars = 4000

/** The files that can be attached, and why the others cannot. Documents become their text. */
export async function readFiles(files: readonly File[]): Promise<{ attachments: Attachment[]; refused: string[] }> {
  const attachments: Attachment[] = []
  const refused: string[] = []
  for (const file of files) {
    const { name, type, size } = file
    const media = mediaOf(type)
    if (size > maxBytes) refused.push(chatTexts.tooLarge(name))
    else if (media !== undefined)
      attachments.push({ kind: media, name: name === '' ? media : name, type, data: await asDataUrl(file) })
    else {
      const read = await readFile(file)
      if ('text' in read) attachments.push({ kind: 'text', name: name === '' ? 'text' : name, type, data: read.text })
      else refused.push(chatTexts.notReadable(name, read.problem))
    }
  }
  return { attachments, refused }
}

/** The attachment for a long pasted text; undefined: it stays in the message. */
export function pastedFile(text: string): Attachment | undefined {
  return text.length > maxPasteChars ? { kind: 'text', name: chatTexts.pastedName, type: 'text/plain', data: text } : undefined
}

function mediaOf(type: string): 'image' | 'audio' | undefined {
  // A drawing is text: it may have scripts.
  if (type.startsWith('image/') && type !== 'image/svg+xml') return 'image'
  return type.startsWith('audio/') ? 'audio' : undefined
}

function asDataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(file)
  })
}
