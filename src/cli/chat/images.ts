import { readFile, stat } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { messageOf } from '../../contract/errors.ts'
import { formatBytes } from '../../registry/names/format-bytes.ts'
import { resolvePath } from '../../registry/names/sources.ts'
import type { ChatContent } from '../servers/client.ts'

type Folders = { readonly base: string; readonly userHome: string }

type WithImages = { readonly content: ChatContent; readonly notes: readonly string[] }

/** A path in quotes, as in a shell, or with `\ `, as terminals paste a dropped file. */
const imagePath =
  /'([^'\n]+\.(?:png|jpe?g|webp|gif|bmp|avif))'|"([^"\n]+\.(?:png|jpe?g|webp|gif|bmp|avif))"|((?:\\.|[^\s'"\\<>()])+\.(?:png|jpe?g|webp|gif|bmp|avif))(?=$|[\s.,;:!?)])/gi

/** Servers accept bodies of 32 MiB, and base64 is a third longer. */
const largestBytes = 20_000_000

/** The paths in a text that may be images, as written in it. */
export function imagePathsIn(text: string): string[] {
  const found = [...text.matchAll(imagePath)].map(
    ([, single, double, plain]) => single ?? double ?? plain?.replace(/\\(.)/g, '$1'),
  )
  return [...new Set(found.filter((path) => path !== undefined && !/^[a-z]{2,}:/i.test(path)))] as string[]
}

/** A message with the images whose paths it contains. Unreadable ones are left out and named. */
export async function withImages(text: string, folders: Folders): Promise<WithImages> {
  const notes: string[] = []
  const images: { type: 'image_url'; image_url: { url: string } }[] = []
  for (const written of imagePathsIn(text)) {
    const path = resolve(resolvePath(written, folders))
    const size = await stat(path).then(
      (stats) => (stats.isFile() ? stats.size : undefined),
      () => undefined,
    )
    // A word that only ends like an image is part of the text.
    if (size === undefined) {
      if (/[/\\]/.test(written)) notes.push(`${written} is not sent as an image: there is no such file`)
      continue
    }
    if (size > largestBytes) {
      notes.push(`${written} is not sent as an image: ${formatBytes(size)} are more than ${formatBytes(largestBytes)}`)
      continue
    }
    try {
      const bytes = await readFile(path)
      images.push({ type: 'image_url', image_url: { url: `data:${mimeType(path)};base64,${bytes.toString('base64')}` } })
      notes.push(`${written} is sent as an image, ${formatBytes(size)}`)
    } catch (error) {
      notes.push(`${written} is not sent as an image: ${messageOf(error)}`)
    }
  }
  return { content: images.length === 0 ? text : [...images, { type: 'text', text }], notes }
}

function mimeType(path: string): string {
  const kind = extname(path).slice(1).toLowerCase()
  return `image/${kind === 'jpg' ? 'jpeg' : kind}`
}
