import { z } from 'zod'
import { chatDefaults } from './chat-schema.ts'
import { apiKeyEnv, serverUrl } from './endpoints-schema.ts'
import { modelLimits } from './limits-schema.ts'
import { fallback, maxQueued, samplingDefaults } from './model-fields.ts'
import { probe, remoteSlots, serverKind } from './remote-schema.ts'

const pattern = z.string().regex(/^[^\s\p{Cc}]+$/u, 'must be a name without spaces, in which * matches any text')

/** A server whose models are all served: an entry of `models` with `from`. */
export const listing = z
  .strictObject({
    from: z
      .strictObject({ url: serverUrl, apiKeyEnv: apiKeyEnv.exactOptional(), server: serverKind })
      .describe(
        'The server, such as Ollama, a llama-server with several models, LM Studio, vLLM, a provider or another Dragoman.',
      ),
    include: z
      .array(pattern)
      .min(1)
      .default(['*'])
      .describe('The models to serve, by the names that the server lists; `*` matches any text: `gpt-*`.'),
    exclude: z.array(pattern).default([]).describe('Those of them not to serve.'),
    prefix: z
      .string()
      .regex(/^[^\s*\p{Cc}]*$/u, 'must be a text without spaces or *')
      .default('')
      .describe('What stands before the names of the server in the names that clients send: `openai/`.'),
    probe,
    slots: remoteSlots.describe('Requests in progress at the same time, on each of the models.'),
    maxQueued,
    limits: modelLimits.exactOptional(),
    chat: chatDefaults.exactOptional(),
    fallback: fallback.exactOptional(),
    defaults: samplingDefaults,
  })
  .describe(
    'All models that a server lists, as models of the engine `remote`, loaded by the first request for them. Its list is read again when it is ' +
      'needed, at most once a minute.',
  )

export type ListingConfig = z.output<typeof listing>

/** The name of a listing's server in messages: its address without the query, which may contain a key. */
export function addressOf({ from }: Pick<ListingConfig, 'from'>): string {
  return from.url.replace(/\?.*$/s, '')
}
