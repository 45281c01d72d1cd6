import { hasMedia, placedMediaIn } from '../../canonical/parts.ts'
import { AppError } from '../../contract/errors.ts'
import {
  kindOfType,
  type MediaBytes,
  type MediaCaller,
  type MediaItem,
  type MediaReader,
  type MediaReference,
} from '../../contract/media.ts'
import type { ContentPart, MediaPart, Message, OutputPart, Prompt } from '../../contract/request.ts'

type MediaDeps = { readonly media?: MediaReader }
type Received<R> = { readonly request: R; readonly caller: MediaCaller }

/** A request with its media, whose memory must be released. */
type WithBytes<R> = { readonly request: R; release(): void }

/**
 * Replaces every reference to media by its bytes while the work runs. Rejects as `MediaReader.read`; without a reader, any reference is
 * refused.
 */
export async function withMedia<R extends { readonly prompt: Prompt }, T>(
  deps: MediaDeps,
  received: Received<R>,
  work: (complete: R) => Promise<T>,
): Promise<T> {
  const read = await readMedia(deps, received)
  try {
    return await work(read?.request ?? received.request)
  } finally {
    read?.release()
  }
}

/** As `withMedia`, but the caller releases the memory. Undefined: the request refers to no media. */
export function readMedia<R extends { readonly prompt: Prompt }>(
  { media: reader }: MediaDeps,
  { request, caller }: Received<R>,
): Promise<WithBytes<R>> | undefined {
  const { prompt } = request
  if (prompt.type !== 'chat' || !hasMedia(prompt)) return undefined
  const items = referencesIn(prompt)
  const [first] = items
  if (first === undefined) return undefined
  if (reader === undefined) {
    throw new AppError('unsupported-field', `this server reads no ${first.kind}: send text`, { at: first.at })
  }
  return reader.read(items, caller).then(({ media, release }) => {
    const found = new Map(items.map(({ source }, index) => [source, media[index] as MediaBytes]))
    const messages = prompt.messages.map((message) => replaceIn(message, found))
    return { request: { ...request, prompt: { ...prompt, messages } }, release }
  })
}

export function referencesIn(prompt: Prompt): readonly MediaItem[] {
  if (prompt.type !== 'chat') return []
  return placedMediaIn(prompt).flatMap(({ part: { kind, source }, at }) =>
    source.type === 'bytes' ? [] : [{ kind, source, at: [...at, 'source'] }],
  )
}

type Found = ReadonlyMap<MediaReference, MediaBytes>

function replaceIn(message: Message, found: Found): Message {
  return message.role === 'assistant'
    ? { ...message, parts: message.parts.map((part) => replacePart(part, found)) }
    : { ...message, content: message.content.map((part) => replacePart(part, found)) }
}

function replacePart<P extends ContentPart | OutputPart>(part: P, found: Found): P
function replacePart(part: ContentPart | OutputPart, found: Found): ContentPart | OutputPart {
  if (part.type === 'tool-result') return { ...part, content: part.content.map((inner) => replacePart(inner, found)) }
  return part.type === 'media' ? withBytes(part, found) : part
}

/** A file that holds an image, audio or a video becomes one. */
function withBytes(part: MediaPart, found: Found): MediaPart {
  const source = part.source.type === 'bytes' ? undefined : found.get(part.source)
  if (source === undefined) return part
  return { ...part, kind: part.kind === 'file' ? kindOfType(source.mediaType) : part.kind, source }
}
