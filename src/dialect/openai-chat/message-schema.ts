import { z } from 'zod'
import { jsonObject, list, looseObject, openObject } from '../wire/first-fault.ts'
import { flag, text } from '../wire/wire-types.ts'

const textPart = looseObject({ type: z.literal('text'), text: z.string() })
const refusalPart = looseObject({ type: z.literal('refusal'), refusal: z.string() })
const imageUrl = looseObject({ url: z.string(), detail: z.enum(['auto', 'low', 'high']).nullish() })
/** OpenAI requires the object; some clients send the string. */
const imagePart = looseObject({ type: z.literal('image_url'), image_url: z.union([z.string(), imageUrl]) })
const mediaUrl = looseObject({ url: z.string() })
/** Audio and video in vLLM's and LLaMA-Factory's spelling. */
const audioUrlPart = looseObject({ type: z.literal('audio_url'), audio_url: z.union([z.string(), mediaUrl]) })
const videoUrlPart = looseObject({ type: z.literal('video_url'), video_url: z.union([z.string(), mediaUrl]) })
/** The format is read from the bytes. */
const inputAudio = looseObject({ data: z.string(), format: text })
/** Mistral's clients send the base64 alone. */
const audioPart = looseObject({ type: z.literal('input_audio'), input_audio: z.union([z.string(), inputAudio]) })
const fileObject = looseObject({ file_id: text, file_data: text, filename: text })
const filePart = looseObject({ type: z.literal('file'), file: fileObject })
/** Mistral's documents and thoughts. */
const documentPart = looseObject({ type: z.literal('document_url'), document_url: z.string(), document_name: text })
const thinkingPart = looseObject({ type: z.literal('thinking'), thinking: z.union([z.string(), list(textPart)]), closed: flag })

/** One part of a message. Every role may contain every kind; the engine refuses those that it does not support. */
export type WirePart = z.output<typeof wirePart>
const wirePart = z.discriminatedUnion('type', [
  textPart,
  refusalPart,
  imagePart,
  audioPart,
  audioUrlPart,
  videoUrlPart,
  filePart,
  documentPart,
  thinkingPart,
])

const parts = list(wirePart, { error: 'an array of content parts' })
const content = z.union([z.string(), parts])

const urlCitation = looseObject({
  url: z.string(),
  title: text,
  start_index: z.int().nullish(),
  end_index: z.int().nullish(),
})
/** OpenAI has one type, `url_citation`; other servers' types are accepted and ignored. */
const annotation = openObject({ type: z.string(), url_citation: urlCitation.nullish() })

/** A JSON string in OpenAI's API; some clients and servers send the object. */
const callArguments = z.union([z.string(), jsonObject]).nullish()

const functionCall = looseObject({ name: z.string(), arguments: callArguments })
const customCall = looseObject({ name: z.string(), input: z.string() })
/** OpenAI's calls have an id; those of some servers' clients do not. */
const toolCall = looseObject({
  id: text,
  type: text,
  function: functionCall.nullish(),
  custom: customCall.nullish(),
})

const promptMessage = looseObject({ role: z.enum(['system', 'developer', 'user']), content, name: text })
const assistantMessage = looseObject({
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
const toolMessage = looseObject({
  role: z.literal('tool'),
  content: content.nullable(),
  tool_call_id: text,
  name: text,
})
const functionMessage = looseObject({ role: z.literal('function'), content: content.nullable(), name: z.string() })

export const wireMessage = z.discriminatedUnion('role', [promptMessage, assistantMessage, toolMessage, functionMessage])

/** One message of the request body. */
export type WireMessage = z.output<typeof wireMessage>
