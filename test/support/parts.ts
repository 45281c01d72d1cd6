import { callsOf, textOf } from '../../src/contract/parts.ts'
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

/** A picture of a type that is not looked into. */
export function image(base64: string, mediaType = 'image/png'): MediaPart {
  return { type: 'media', kind: 'image', mediaType, source: { type: 'bytes', base64 } }
}

export function audio(base64: string, mediaType = 'audio/wav'): MediaPart {
  return { type: 'media', kind: 'audio', mediaType, source: { type: 'bytes', base64 } }
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
