import { mediaIn } from '../../canonical/parts.ts'
import { AppError } from '../../contract/errors.ts'
import type { CanonicalPath } from '../../contract/field.ts'
import type { ConvertedDocument, MediaConverter } from '../../contract/media.ts'
import { bytesOf, type MediaBytes, type MediaKind } from '../../contract/media.ts'
import type { ContentPart, MediaPart, Message, OutputPart, Prompt, TextPart } from '../../contract/request.ts'

/** The longest edge of an image of `detail: low`, as in OpenAI's API. */
const lowDetailEdge = 512

/** How a server, or an engine itself, reads media. */
export type MediaSkills = {
  readonly reads: Readonly<Record<MediaKind, boolean>>
  /** The types that it decodes; absent: all. */
  readonly decodes?: { readonly [Kind in 'image' | 'audio' | 'file']?: readonly string[] }
  readonly decodesSimply?: true
  readonly ignoresDetail?: true
}

type Fleet = {
  /** Any of them may get the request. */
  readonly readers: readonly MediaSkills[]
  readonly converter: MediaConverter
  /** Adjacent media get a line break between them. */
  readonly separatesMedia: boolean
}

/**
 * Converts media of the request that its readers cannot decode; documents become text. Rejects as `MediaConverter` does, at the part's
 * source. Other media that nobody reads stay as they are: a later check refuses them by name.
 */
export async function adaptMedia<R extends { readonly prompt: Prompt }>(
  request: R,
  fleet: Fleet,
  signal: AbortSignal,
): Promise<R> {
  const { prompt } = request
  if (prompt.type !== 'chat' || mediaIn(prompt).length === 0) return request
  const messages: Message[] = []
  for (const [index, message] of prompt.messages.entries()) {
    const at = ['prompt', 'messages', index]
    const adaptParts = <P extends ContentPart | OutputPart>(parts: readonly P[], list: string) =>
      adaptAll(parts, { ...fleet, at: [...at, list], signal })
    if (message.role === 'assistant') messages.push({ ...message, parts: await adaptParts(message.parts, 'parts') })
    else messages.push({ ...message, content: await adaptParts(message.content, 'content') })
  }
  return { ...request, prompt: { ...prompt, messages } }
}

type MediaContext = Fleet & { readonly at: CanonicalPath; readonly signal: AbortSignal }

/** A video may become several images. */
async function adaptAll<P extends ContentPart | OutputPart>(parts: readonly P[], place: MediaContext): Promise<readonly P[]> {
  const adapted: (ContentPart | OutputPart)[] = []
  for (const [index, part] of parts.entries()) {
    const at = [...place.at, index]
    if (part.type === 'media') adapted.push(...(await adaptPart(part, { ...place, at: [...at, 'source'] })))
    else if (part.type === 'tool-result')
      adapted.push({ ...part, content: await adaptAll(part.content, { ...place, at: [...at, 'content'] }) })
    else adapted.push(part)
  }
  return (place.separatesMedia ? adapted.flatMap(separate) : adapted) as P[]
}

/** The part, preceded by a line break if the part before it is media too. */
function separate<P extends ContentPart | OutputPart>(part: P, index: number, parts: readonly P[]): (P | TextPart)[] {
  return part.type === 'media' && parts[index - 1]?.type === 'media' ? [{ type: 'text', text: '\n' }, part] : [part]
}

/** Whether `detail: low` makes an image smaller. */
export function isLarge({ width = 0, height = 0 }: MediaBytes): boolean {
  return Math.max(width, height) > lowDetailEdge
}

async function adaptPart(
  part: MediaPart,
  { readers: all, converter, at, signal }: MediaContext,
): Promise<readonly (MediaPart | TextPart)[]> {
  const media = bytesOf(part)
  const readers = all.filter(({ reads }) => reads[part.kind])
  const isDecoded = readers.every((reader) => decodes(reader, part.kind, media))
  try {
    switch (part.kind) {
      case 'image':
        if (readers.length === 0) return [part]
        return [await adaptImage(part, media, { readers, isDecoded, converter, signal })]
      case 'audio':
        if (readers.length === 0 || isDecoded) return [part]
        return [{ ...part, source: await converter.audio(media, signal) }]
      case 'video': {
        if (readers.length > 0 || !all.some(({ reads }) => reads.image)) return [part]
        const frames = await converter.frames(media, signal)
        return frames.map((source) => ({ type: 'media', kind: 'image', source }))
      }
      case 'file':
        // Every server reads text.
        if (all.length > 0 && readers.length === all.length && isDecoded) return [part]
        return documentParts(await converter.document(media, { filename: part.filename, sees: seesAll(all) }, signal))
    }
  } catch (error) {
    if (error instanceof AppError && error.at === undefined && error.param === undefined && !signal.aborted)
      throw new AppError(error.code, error.message, { at, cause: error })
    throw error
  }
}

function seesAll(readers: readonly MediaSkills[]): boolean {
  return readers.length > 0 && readers.every(({ reads }) => reads.image)
}

function documentParts(parts: ConvertedDocument): readonly (MediaPart | TextPart)[] {
  return parts.map((part) =>
    typeof part === 'string' ? { type: 'text', text: part } : { type: 'media', kind: 'image', source: part },
  )
}

type ImageWork = {
  readonly readers: readonly MediaSkills[]
  readonly isDecoded: boolean
  readonly converter: MediaConverter
  readonly signal: AbortSignal
}

async function adaptImage(
  part: MediaPart,
  media: MediaBytes,
  { readers, isDecoded, converter, signal }: ImageWork,
): Promise<MediaPart> {
  const { detail, ...plain } = part
  // Servers that support `detail` shrink images themselves.
  const shrinks = detail === 'low' && readers.some(({ ignoresDetail }) => ignoresDetail === true)
  const misdraws = readers.some(({ decodesSimply }) => decodesSimply === true) && converter.isMisdrawn(media)
  if (isDecoded && !(converter.hasImages && ((shrinks && isLarge(media)) || misdraws))) return part
  const source = await converter.image(media, shrinks ? { maxEdge: lowDetailEdge } : {}, signal)
  return shrinks ? { ...plain, source } : { ...part, source }
}

function decodes({ decodes: types }: MediaSkills, kind: MediaKind, { mediaType }: MediaBytes): boolean {
  if (kind === 'video') return true
  return types?.[kind]?.includes(mediaType) ?? true
}
