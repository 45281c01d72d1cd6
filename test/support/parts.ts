import { hash } from 'node:crypto'
import { callsOf, textOf } from '../../src/canonical/parts.ts'
import type { MediaBytes } from '../../src/contract/media.ts'
import type {
  MediaPart,
  Message,
  OutputPart,
  ReasoningPart,
  RefusalPart,
  TextPart,
  ToolCallPart,
} from '../../src/contract/request.ts'
import type { GenerationResult } from '../../src/contract/result.ts'

export function text(words: string): TextPart {
  return { type: 'text', text: words }
}

export function reasoning(words: string): ReasoningPart {
  return { type: 'reasoning', text: words }
}

export function refusal(words: string): RefusalPart {
  return { type: 'refusal', text: words }
}

export function call(id: string, name: string, input: string): ToolCallPart {
  return { type: 'tool-call', id, name, input }
}

/** Bytes as engines get them, of a type that is not looked into. */
export function bytes(base64: string, mediaType: string): MediaBytes {
  const content = Buffer.from(base64, 'base64')
  return { type: 'bytes', base64, sizeBytes: content.length, sha256: hash('sha256', content), mediaType }
}

export function image(base64: string, mediaType = 'image/png'): MediaPart {
  return { type: 'media', kind: 'image', source: bytes(base64, mediaType) }
}

export function audio(base64: string, mediaType = 'audio/wav'): MediaPart {
  return { type: 'media', kind: 'audio', source: bytes(base64, mediaType) }
}

/** A picture as a dialect decodes it. */
export function sentImage(base64: string, mediaType = 'image/png'): MediaPart {
  return { type: 'media', kind: 'image', source: { type: 'base64', base64, mediaType } }
}

export function sentAudio(base64: string, mediaType = 'audio/wav'): MediaPart {
  return { type: 'media', kind: 'audio', source: { type: 'base64', base64, mediaType } }
}

export function assistant(...parts: readonly OutputPart[]): Extract<Message, { role: 'assistant' }> {
  return { role: 'assistant', parts }
}

/** The text of each choice. */
export function textsOf({ choices }: GenerationResult): readonly string[] {
  return choices.map(({ parts }) => textOf(parts))
}

/** The calls of the only choice. */
export function callsIn({ choices: [choice] }: GenerationResult): readonly ToolCallPart[] {
  return callsOf(choice?.parts ?? [])
}

/** Media by URL, as a dialect decodes them. */
export function byUrl(kind: MediaPart['kind'], url: string): MediaPart {
  return { type: 'media', kind, source: { type: 'url', url } }
}
