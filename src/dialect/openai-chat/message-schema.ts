import { z } from 'zod'
import { jsonObject, list, looseObject } from '../wire/first-fault.ts'
import { flag, text } from '../wire/wire-types.ts'

/** Each kind of object inside a message; `check-nested.ts` reports other keys than theirs. */
export const textPart = looseObject({ type: z.literal('text'), text: z.string() })
export const refusalPart = looseObject({ type: z.literal('refusal'), refusal: z.string() })
export const imageUrl = looseObject({ url: z.string(), detail: z.enum(['auto', 'low', 'high']).nullish() })
/** OpenAI has the object, some clients send the string. */
export const imagePart = looseObject({ type: z.literal('image_url'), image_url: z.union([z.string(), imageUrl]) })
export const mediaUrl = looseObject({ url: z.string() })
/** As vLLM and LLaMA-Factory spell audio and video. */
export const audioUrlPart = looseObject({ type: z.literal('audio_url'), audio_url: z.union([z.string(), mediaUrl]) })
export const videoUrlPart = looseObject({ type: z.literal('video_url'), video_url: z.union([z.string(), mediaUrl]) })
/** The format is read from the bytes. */
export const inputAudio = looseObject({ data: z.string(), format: text })
export const audioPart = looseObject({ type: z.literal('input_audio'), input_audio: inputAudio })
export const fileObject = looseObject({ file_id: text, file_data: text, filename: text })
export const filePart = looseObject({ type: z.literal('file'), file: fileObject })

/** One part of a message. Every role may contain every kind; the engine refuses those that it does not support. */
export type WirePart = z.output<typeof wirePart>
const wirePart = z.discriminatedUnion('type', [textPart, refusalPart, imagePart, audioPart, audioUrlPart, videoUrlPart, filePart])

const parts = list(wirePart, { error: 'an array of content parts' })
const content = z.union([z.string(), parts])
/** What is asked has words; an answer or a result may have none. */
const askedContent = z.union([z.string(), parts.min(1, { error: 'at least one content part' })])

const urlCitation = looseObject({
  url: z.string(),
  title: text,
  start_index: z.int().nullish(),
  end_index: z.int().nullish(),
})
/** OpenAI has one type, `url_citation`; other servers' types are accepted and ignored. */
const annotation = looseObject({ type: z.string(), url_citation: urlCitation.nullish() })

/** A JSON string in OpenAI's API; some clients and servers send the object instead. */
const callArguments = z.union([z.string(), jsonObject]).nullish()

export const functionCall = looseObject({ name: z.string(), arguments: callArguments })
export const customCall = looseObject({ name: z.string(), input: z.string() })
/** OpenAI's calls have an id; those of some servers' clients do not. */
export const toolCall = looseObject({
  id: text,
  type: text,
  function: functionCall.nullish(),
  custom: customCall.nullish(),
})

export const promptMessage = looseObject({ role: z.enum(['system', 'developer', 'user']), content: askedContent, name: text })
export const assistantMessage = looseObject({
  role: z.literal('assistant'),
  content: content.nullish(),
  name: text,
  refusal: text,
  reasoning_content: text,
  reasoning: text,
  tool_calls: list(toolCall).nullish(),
  function_call: functionCall.nullish(),
  audio: z.unknown().optional(),
  annotations: list(annotation).nullish(),
  prefix: flag,
  partial: flag,
})
/** Null for a tool that returns nothing, although OpenAI's types exclude it. */
export const toolMessage = looseObject({
  role: z.literal('tool'),
  content: content.nullable(),
  tool_call_id: text,
  name: text,
})
export const functionMessage = looseObject({ role: z.literal('function'), content: content.nullable(), name: z.string() })

export const wireMessage = z.discriminatedUnion('role', [promptMessage, assistantMessage, toolMessage, functionMessage])

/** One message of the request body. */
export type WireMessage = z.output<typeof wireMessage>
