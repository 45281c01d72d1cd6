import { AppError } from '../contract/errors.ts'
import {
  kindOfType,
  type MediaBytes,
  type MediaCaller,
  type MediaItem,
  type MediaReader,
  type MediaReference,
} from '../contract/media.ts'
import { hasMedia, placedMediaIn } from '../contract/parts.ts'
import type { ContentPart, MediaPart, Message, OutputPart, Prompt } from '../contract/request.ts'

type MediaDeps = { readonly media?: MediaReader }

/**
 * Runs work on the request with bytes in the place of every reference to media. Rejects as `MediaReader.read`; without a reader, any
 * reference is refused.
 */
export function withMedia<R extends { readonly prompt: Prompt }, T>(
  deps: MediaDeps,
  received: Received<R>,
  work: (complete: R) => Promise<T>,
): Promise<T> {
  const { request } = received
  return hasMedia(request.prompt) ? withRead(deps, received, work) : work(request)
}

type Received<R> = { readonly request: R; readonly caller: MediaCaller }

async function withRead<R extends { readonly prompt: Prompt }, T>(
  { media: reader }: MediaDeps,
  { request, caller }: Received<R>,
  work: (complete: R) => Promise<T>,
): Promise<T> {
  const { prompt } = request
  const items = referencesIn(prompt)
  const [first] = items
  if (prompt.type !== 'chat' || first === undefined) return work(request)
  if (reader === undefined) {
    throw new AppError('unsupported-field', `this server reads no ${first.kind}: send text`, { at: first.at })
  }
  const { media, release } = await reader.read(items, caller)
  try {
    const found = new Map(items.map(({ source }, index) => [source, media[index] as MediaBytes]))
    const messages = prompt.messages.map((message) => replaceIn(message, found))
    return await work({ ...request, prompt: { ...prompt, messages } })
  } finally {
    release()
  }
}

/** The references to media in a prompt, in their order. */
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
