import { z } from 'zod'
import type { AppError } from '../../contract/errors.ts'
import { list, looseObject } from '../wire/first-fault.ts'
import { validate } from '../wire/validate.ts'
import { nonEmptyText } from '../wire/wire-types.ts'

const greeting = looseObject({ authVersion: z.literal(1), clientIdentifier: z.string(), clientPasskey: z.string() })
const id = z.int().min(0)
const clientMessage = z.discriminatedUnion('type', [
  looseObject({ type: z.literal('rpcCall'), endpoint: nonEmptyText, callId: id, parameter: z.unknown().optional() }),
  looseObject({
    type: z.literal('channelCreate'),
    endpoint: nonEmptyText,
    channelId: id,
    creationParameter: z.unknown().optional(),
  }),
  looseObject({ type: z.literal('channelSend'), channelId: id, message: looseObject({ type: z.string() }) }),
  looseObject({ type: z.literal('channelAck'), channelId: id }),
  looseObject({ type: z.literal('keepAlive') }),
  looseObject({ type: z.literal('communicationWarning'), warning: z.string() }),
])
export type ClientMessage = z.output<typeof clientMessage>

/** The keys that a client's first message may hold, the likeliest first. */
export function decodeGreeting(message: unknown): readonly string[] {
  const { clientIdentifier, clientPasskey } = validate(greeting, message)
  return [clientPasskey, `${clientIdentifier}:${clientPasskey}`, `sk-lm-${clientIdentifier}:${clientPasskey}`]
}

export const decodeMessage = (message: unknown): ClientMessage => validate(clientMessage, message)

/** An error in the form of the SDKs, which show its title. */
export function encodeFailure({ message, code }: Pick<AppError, 'message' | 'code'>) {
  return { title: message, rootTitle: message, errorData: { code } }
}

const kvStack = looseObject({
  layers: list(looseObject({ config: looseObject({ fields: list(looseObject({ key: nonEmptyText, value: z.unknown() })) }) })),
})
export type KvStack = z.output<typeof kvStack>
const specifier = z.discriminatedUnion('type', [
  looseObject({
    type: z.literal('query'),
    query: looseObject({ identifier: z.string().nullish(), path: z.string().nullish(), vision: z.boolean().nullish() }),
  }),
  looseObject({ type: z.literal('instanceReference'), instanceReference: nonEmptyText }),
])
export type Specifier = z.output<typeof specifier>

const part = z.discriminatedUnion('type', [
  looseObject({ type: z.literal('text'), text: z.string() }),
  looseObject({ type: z.literal('file'), identifier: nonEmptyText, fileType: z.string() }),
  looseObject({
    type: z.literal('toolCallRequest'),
    toolCallRequest: looseObject({
      id: z.string().nullish(),
      name: nonEmptyText,
      arguments: z.record(z.string(), z.unknown()).nullish(),
    }),
  }),
  looseObject({ type: z.literal('toolCallResult'), content: z.string(), toolCallId: z.string().nullish() }),
])
const history = looseObject({
  messages: list(looseObject({ role: z.enum(['system', 'user', 'assistant', 'tool']), content: list(part) })),
})
export type History = z.output<typeof history>

const search = looseObject({
  searchTerm: z.string().nullish(),
  limit: z.int().positive().nullish(),
  compatibilityTypes: list(z.string()).nullish(),
})
export type Search = z.output<typeof search>

export const parameters = {
  bySpecifier: looseObject({ specifier, throwIfNotFound: z.boolean().nullish() }),
  unload: looseObject({ identifier: nonEmptyText }),
  getOrLoad: looseObject({ identifier: nonEmptyText, loadConfigStack: kvStack, loadTtlMs: z.number().nullish() }),
  loadModel: looseObject({
    modelKey: nonEmptyText,
    identifier: nonEmptyText.nullish(),
    loadConfigStack: kvStack,
    ttlMs: z.number().nullish(),
  }),
  text: looseObject({ specifier, inputString: z.string() }),
  embed: looseObject({ modelSpecifier: specifier, inputString: z.string() }),
  template: looseObject({ specifier, history, predictionConfigStack: kvStack }),
  predict: looseObject({ modelSpecifier: specifier, history, predictionConfigStack: kvStack }),
  complete: looseObject({ modelSpecifier: specifier, rawPrompt: z.string(), predictionConfigStack: kvStack }),
  upload: looseObject({ name: z.string(), contentBase64: z.base64() }),
  download: looseObject({ downloadIdentifier: nonEmptyText }),
  search: looseObject({ opts: search }),
  options: looseObject({ modelSearchResultIdentifier: looseObject({ identifier: nonEmptyText }) }),
} as const

/** The settings of a stack: a later layer wins. */
export function settingsOf({ layers }: KvStack): ReadonlyMap<string, unknown> {
  return new Map(layers.flatMap(({ config }) => config.fields.map(({ key, value }) => [key, value] as const)))
}
