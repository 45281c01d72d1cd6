import { objectText } from '../../../../canonical/object-text.ts'
import type { CanonicalPath } from '../../../../contract/field.ts'
import { bytesOf } from '../../../../contract/media.ts'
import type { Annotation, ContentPart, MediaPart, Message, OutputPart, ReasoningPart } from '../../../../contract/request.ts'
import type { Profile } from '../../servers/profile.ts'
import { generatedMedia } from './generated-media.ts'
import { readOpaque } from './opaque.ts'
import { refuseNames } from './speaker-names.ts'
import { speakerRole } from './speaker-role.ts'
import { readThought } from './thought.ts'

type Item = Readonly<Record<string, unknown>>

/**
 * A conversation as the `input` of Responses: parts of a turn are items, in their order. Throws `unsupported-field` for names of speakers
 * and for media in an assistant's turn.
 */
export function toItems(messages: readonly Message[], profile: Profile): readonly Item[] {
  refuseNames(messages, profile)
  return messages.flatMap((message, index) => itemsOf(message, ['prompt', 'messages', index], profile))
}

function itemsOf(message: Message, at: CanonicalPath, profile: Profile): readonly Item[] {
  switch (message.role) {
    case 'system':
    case 'developer':
    case 'user':
      return [{ type: 'message', role: speakerRole(message.role, profile), content: toContent(message.content) }]
    case 'tool':
      return [{ type: 'function_call_output', call_id: message.toolCallId, output: toContent(message.content) }]
    case 'assistant':
      return new TurnItems(profile, [...at, 'parts']).of(message.parts)
  }
}

/** Consecutive texts and refusals are the content of one message. */
class TurnItems {
  readonly #profile: Profile
  readonly #at: CanonicalPath
  readonly #items: Item[] = []
  #content: Item[] = []

  constructor(profile: Profile, at: CanonicalPath) {
    this.#profile = profile
    this.#at = at
  }

  of(parts: readonly OutputPart[]): readonly Item[] {
    for (const [index, part] of parts.entries()) this.#add(part, index)
    this.#closeMessage()
    return this.#items
  }

  #add(part: OutputPart, index: number): void {
    switch (part.type) {
      case 'text':
        this.#content.push({ type: 'output_text', text: part.text, annotations: (part.annotations ?? []).map(toAnnotation) })
        return
      case 'refusal':
        this.#content.push({ type: 'refusal', refusal: part.text })
        return
      case 'media':
        throw generatedMedia(this.#profile, [...this.#at, index])
      case 'reasoning':
        this.#push(...reasoningItem(part, this.#profile))
        return
      case 'tool-call':
        this.#push({ type: 'function_call', call_id: part.id, name: part.name, arguments: objectText(part.input) })
        return
      case 'tool-result':
        this.#push({ type: 'function_call_output', call_id: part.toolCallId, output: toContent(part.content) })
    }
  }

  #push(...items: readonly Item[]): void {
    this.#closeMessage()
    this.#items.push(...items)
  }

  #closeMessage(): void {
    if (this.#content.length > 0) this.#items.push({ type: 'message', role: 'assistant', content: this.#content })
    this.#content = []
  }
}

/** Verbatim if the server made it; otherwise its text, if the server reads that. */
function reasoningItem({ text, opaque }: ReasoningPart, { responses }: Profile): readonly Item[] {
  const known = readOpaque(opaque)
  const thought = known?.type === 'thought' ? readThought(known.value) : undefined
  if (thought === undefined) {
    return responses?.readsThoughts === true ? [{ type: 'reasoning', summary: [], content: contentOf(text) }] : []
  }
  const { id, isSummary, encrypted } = thought
  const shown = isSummary ? { summary: summaryOf(text) } : { summary: [], content: contentOf(text) }
  return [{ type: 'reasoning', ...(id !== undefined && { id }), ...shown, encrypted_content: encrypted }]
}

function summaryOf(text: string): readonly Item[] {
  return text === '' ? [] : [{ type: 'summary_text', text }]
}

function contentOf(text: string): readonly Item[] {
  return text === '' ? [] : [{ type: 'reasoning_text', text }]
}

/** A single text as a string. */
function toContent(parts: readonly ContentPart[]): unknown {
  const [first] = parts
  if (first === undefined) return ''
  return parts.length === 1 && first.type === 'text' ? first.text : parts.map(toPart)
}

function toPart(part: ContentPart): Item {
  return part.type === 'text' ? { type: 'input_text', text: part.text } : toMedia(part)
}

/** Bytes are sent inline: a server never gets an address to fetch. */
function toMedia(part: MediaPart): Item {
  const { kind, detail, filename } = part
  const { base64, mediaType } = bytesOf(part)
  const url = `data:${mediaType};base64,${base64}`
  if (kind === 'image') return { type: 'input_image', image_url: url, detail: detail ?? 'auto' }
  return { type: 'input_file', file_data: url, filename: filename ?? 'file' }
}

function toAnnotation(annotation: Annotation): Item {
  switch (annotation.type) {
    case 'url-citation': {
      const { url, title = '', startIndex = 0, endIndex = 0 } = annotation
      return { type: 'url_citation', url, title, start_index: startIndex, end_index: endIndex }
    }
    case 'file-citation': {
      const { fileId, filename = '', index = 0 } = annotation
      return { type: 'file_citation', file_id: fileId, filename, index }
    }
  }
}
