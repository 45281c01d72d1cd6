import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Dialect } from '../../contract/dialect.ts'
import { type GenerationRequest, type Message, plainChat, plainRequest } from '../../contract/request.ts'
import { cancelFields, cancelShape } from '../wire/cancel-keys.ts'
import { list, looseObject } from '../wire/first-fault.ts'
import { allText, encodeStream, nothing, withoutCalls } from '../wire/stream/encode-stream.ts'
import { bodyReader } from '../wire/validate.ts'
import { integerBetween, nonEmptyText, numberBetween, text } from '../wire/wire-types.ts'
import { encodeUnslothError } from './encode.ts'
import { generateFields } from './fields.ts'
import type { Piece } from './replies.ts'

const message = looseObject({ role: z.enum(['system', 'user', 'assistant']), content: z.string() })
export const generateSchema = looseObject({
  model: nonEmptyText,
  messages: list(message, { error: 'an array of messages' }).min(1, { error: 'at least one message' }),
  system_prompt: text,
  temperature: numberBetween(0, 2).nullish(),
  top_p: numberBetween(0, 1).nullish(),
  top_k: integerBetween(-1, 100).nullish(),
  max_new_tokens: integerBetween(1, 4096).nullish(),
  repetition_penalty: numberBetween(1, 2).nullish(),
  presence_penalty: numberBetween(0, 2).nullish(),
  ...cancelShape,
})
const readBody = bodyReader(generateSchema, [...generateFields, ...cancelFields])

type Wire = z.output<typeof generateSchema>

/** Unsloth's legacy `POST /api/inference/generate/stream`; `model` is an extension, which the route fills if it is absent. */
export const unslothGenerate: Dialect = {
  decode({ body }, { id }) {
    const { wire, ignored } = readBody(body)
    return {
      requests: [toRequest(wire, id)],
      stream: true,
      ignored,
      nameOf: (path) => path.join('.').replace(/^prompt\.messages/, 'messages'),
      encodeResult: () => {
        throw new Error('this route always streams')
      },
      createStreamEncoder: () => encoder,
    }
  },
  createId: () => `gen-${randomUUID()}`,
  encodeError: encodeUnslothError,
  heartbeat: ': \n\n',
  prefixes: ['/api/inference'],
}

function toRequest(wire: Wire, id: string): GenerationRequest {
  const system: Message[] = wire.system_prompt ? [{ role: 'system', content: [{ type: 'text', text: wire.system_prompt }] }] : []
  return {
    ...plainRequest,
    id,
    model: wire.model,
    prompt: { type: 'chat', ...plainChat, messages: [...system, ...wire.messages.map(toMessage)] },
    maxOutputTokens: wire.max_new_tokens ?? 2048,
    sampling: {
      temperature: wire.temperature ?? 0.6,
      topP: wire.top_p ?? 0.95,
      // Its default there, 20, would be refused by servers without this field.
      ...(typeof wire.top_k === 'number' && { topK: Math.max(0, wire.top_k) }),
      repetitionPenalty: wire.repetition_penalty ?? 1,
      presencePenalty: wire.presence_penalty ?? 0,
    },
  }
}

function toMessage({ role, content }: Wire['messages'][number]): Message {
  const parts = [{ type: 'text', text: content }] as const
  return role === 'assistant' ? { role, parts } : { role, content: parts }
}

const done = 'data: [DONE]\n\n'

/** Reasoning is part of the text, in tags. */
const encoder = encodeStream({
  ...allText(({ delta }) => frame({ content: delta })),
  ...withoutCalls,
  start: nothing,
  'reasoning-start': () => frame({ content: '<think>' }),
  'reasoning-end': () => frame({ content: '</think>' }),
  finish: nothing,
  usage: () => done,
  error: ({ error }) => frame({ error: error.message }) + done,
})

function frame(value: Piece): string {
  return `data: ${JSON.stringify(value)}\n\n`
}
