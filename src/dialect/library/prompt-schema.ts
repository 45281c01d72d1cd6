import { z } from 'zod'
import type { MediaBytes, MediaReference } from '../../contract/media.ts'
import type {
  Annotation,
  ChatPrompt,
  ContentPart,
  CustomTool,
  FunctionTool,
  JsonObject,
  MediaPart,
  Message,
  OutputPart,
  Prompt,
  ReasoningPart,
  RefusalPart,
  TextPart,
  Tool,
  ToolCallPart,
  ToolResultPart,
  TurnPlaceholders,
} from '../../contract/request.ts'
import type { RequestTemplate } from '../../contract/template.ts'
import { jsonObject, list } from '../wire/first-fault.ts'
import { nonEmptyText, tokenIdList, wholeFrom } from '../wire/wire-types.ts'
import { object, oneOf } from './typed-object.ts'

type Of<Union, Type extends string> = Extract<Union, { readonly type: Type }>

const text = z.string()
const yes = z.literal(true)
const json = jsonObject as z.ZodType<JsonObject>
const type = <Name extends string>(name: Name) => z.literal(name)

const annotation = oneOf<Annotation>('type', [
  object<Of<Annotation, 'url-citation'>>(
    { type: type('url-citation'), url: text },
    { title: text, startIndex: wholeFrom(0), endIndex: wholeFrom(0) },
  ),
  object<Of<Annotation, 'file-citation'>>({ type: type('file-citation'), fileId: text }, { filename: text, index: wholeFrom(0) }),
])

const source = oneOf<MediaBytes | MediaReference>('type', [
  object<Of<MediaReference, 'url'>>({ type: type('url'), url: nonEmptyText }, {}),
  object<Of<MediaReference, 'base64'>>({ type: type('base64'), base64: nonEmptyText }, { mediaType: text }),
  object<Of<MediaReference, 'file'>>({ type: type('file'), id: nonEmptyText }, {}),
  object<MediaBytes>(
    { type: type('bytes'), base64: nonEmptyText, sizeBytes: wholeFrom(1), sha256: nonEmptyText, mediaType: nonEmptyText },
    { width: wholeFrom(1), height: wholeFrom(1), durationMs: z.number() },
  ),
])

const textPart = object<TextPart>({ type: type('text'), text }, { annotations: list(annotation) })
const mediaPart = object<MediaPart>(
  { type: type('media'), kind: z.enum(['image', 'audio', 'video', 'file']), source },
  { detail: z.enum(['auto', 'low', 'high']), filename: text },
)
const content = list(oneOf<ContentPart>('type', [textPart, mediaPart]), { error: 'an array of parts' })

const outputPart = oneOf<OutputPart>('type', [
  textPart,
  object<ReasoningPart>({ type: type('reasoning'), text }, { opaque: text }),
  object<RefusalPart>({ type: type('refusal'), text }, {}),
  object<ToolCallPart>(
    { type: type('tool-call'), id: nonEmptyText, name: nonEmptyText, input: text },
    { kind: type('custom'), state: z.enum(['repaired', 'unparseable']), raw: text },
  ),
  object<ToolResultPart>({ type: type('tool-result'), toolCallId: nonEmptyText, content }, { isError: yes }),
  mediaPart,
])

const message = oneOf<Message>('role', [
  object<Exclude<Message, { readonly role: 'assistant' | 'tool' }>>(
    { role: z.enum(['system', 'developer', 'user']), content },
    { name: text },
  ),
  object<Extract<Message, { readonly role: 'assistant' }>>(
    { role: z.literal('assistant'), parts: list(outputPart, { error: 'an array of parts' }) },
    { name: text },
  ),
  object<Extract<Message, { readonly role: 'tool' }>>(
    { role: z.literal('tool'), content, toolCallId: nonEmptyText },
    { name: text, isError: yes },
  ),
])

const functionTool = object<FunctionTool>(
  { name: nonEmptyText },
  { type: type('function'), description: text, parameters: json, strict: z.boolean(), isDeferred: yes, enforced: json },
)
const customTool = object<CustomTool>(
  { type: type('custom'), name: nonEmptyText },
  {
    description: text,
    grammar: object<NonNullable<CustomTool['grammar']>>({ syntax: z.enum(['lark', 'regex']), definition: nonEmptyText }, {}),
  },
)
const tool = oneOf<Tool>('type', [functionTool, customTool])

const template: z.ZodType<string | RequestTemplate> = z.union([
  nonEmptyText,
  oneOf<RequestTemplate>('type', [
    object<Of<RequestTemplate, 'own'>>({ type: type('own') }, {}),
    object<Of<RequestTemplate, 'named'>>({ type: type('named'), name: nonEmptyText, source: text }, {}),
  ]),
])

const turns = object<TurnPlaceholders>(
  { user: nonEmptyText, userEnd: nonEmptyText, assistant: nonEmptyText, assistantEnd: nonEmptyText },
  {},
)

/** A prompt of a program in this process. */
export const promptSchema = oneOf<Prompt>('type', [
  object<ChatPrompt>(
    {
      type: type('chat'),
      messages: list(message, { error: 'an array of messages' }).min(1, { error: 'at least one message' }),
      tools: list(tool, { error: 'an array of tools' }),
      templateVariables: json,
      start: z.enum(['new-turn', 'last-message', 'bare']),
      responsePrefix: text,
    },
    { template, toolFormat: nonEmptyText, keepsCallTexts: yes, otherTools: list(functionTool) },
  ),
  object<Of<Prompt, 'text'>>({ type: type('text'), text }, { readsControlTokens: yes, turns }),
  object<Of<Prompt, 'tokens'>>({ type: type('tokens'), tokens: tokenIdList().min(1, { error: 'at least one token' }) }, {}),
  object<Of<Prompt, 'infill'>>({ type: type('infill'), prefix: text, suffix: text }, {}),
])
