import { readText } from '../../../../../src/documents/text.ts'
import { chatTexts } from '../../../texts/chat.ts'
import type { Attachment } from '../conversation.ts'
import { smallPicture } from './small-picture.ts'
import type { Job, ReadFile } from './worker.ts'

const maxBytes = 20_000_000
/** A longer paste becomes a file, so that the message stays readable. */
const maxPasteChars = 4000

/** The files that can be attached, and why the others cannot. Documents become their text, and scans pictures. */
export async function readFiles(files: readonly File[]): Promise<{ attachments: Attachment[]; refused: string[] }> {
  const attachments: Attachment[] = []
  const refused: string[] = []
  for (const file of files) {
    const { name, size } = file
    if (size > maxBytes) {
      refused.push(chatTexts.tooLarge(name))
      continue
    }
    try {
      const read = await readOne(file)
      if ('problem' in read) refused.push(chatTexts.notReadable(name, read.problem))
      else attachments.push(...read)
    } catch (error) {
      // A folder, or a file that is gone.
      refused.push(chatTexts.notReadable(name, chatTexts.unreadFile(error instanceof Error ? error.message : String(error))))
    }
  }
  return { attachments, refused }
}

async function readOne(file: File): Promise<readonly Attachment[] | { readonly problem: string }> {
  const { name, type } = file
  const media = mediaOf(type)
  if (media === undefined) {
    const read = await readFile(file)
    return 'parts' in read ? attachmentsOf(file, read.parts) : read
  }
  const data = media === 'image' ? await smallPicture(file) : file
  return [{ kind: media, name: name === '' ? media : name, type: data.type, data: await asDataUrl(data) }]
}

/** The texts and pictures of a document, in their order. */
async function attachmentsOf({ name, type }: File, parts: readonly (string | Blob)[]): Promise<readonly Attachment[]> {
  const attachments: Attachment[] = []
  let [texts, pictures] = [0, 0]
  for (const part of parts) {
    if (typeof part === 'string') {
      texts += 1
      const named = texts === 1 ? (name === '' ? 'text' : name) : chatTexts.partOf(name, texts)
      attachments.push({ kind: 'text', name: named, type, data: part })
    } else {
      pictures += 1
      attachments.push({ kind: 'image', name: chatTexts.pageOf(name, pictures), type: 'image/png', data: await asDataUrl(part) })
    }
  }
  return attachments
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

function asDataUrl(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(file)
  })
}

const mostMs = 30_000

/** The text of a file, as the server would read it: in a worker that ends after a time, unless it is plain text. */
async function readFile(file: File): Promise<ReadFile> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  const text = readText(bytes)
  if (text !== undefined)
    return text === '' ? { reason: 'no-text', problem: chatTexts.emptyFile } : { kind: 'text', parts: [text] }
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' })
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    return await new Promise((resolve, reject) => {
      timer = setTimeout(() => resolve({ reason: 'too-large', problem: chatTexts.tooSlowFile }), mostMs)
      const { port1: port, port2 } = new MessageChannel()
      port.onmessage = ({ data }: MessageEvent<ReadFile>) => resolve(data)
      worker.onerror = ({ message }) => reject(new Error(message))
      const job: Job = { bytes, port: port2 }
      worker.postMessage(job, [bytes.buffer, port2])
    })
  } catch (error) {
    return { reason: 'damaged', problem: chatTexts.unreadFile(error instanceof Error ? error.message : String(error)) }
  } finally {
    clearTimeout(timer)
    worker.terminate()
  }
}
