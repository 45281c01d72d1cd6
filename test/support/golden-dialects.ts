import { expect } from 'vitest'
import { createWireCheck } from './wire-schema.ts'

/** How a protocol asks for one scripted generation: the user's message is the script (engine/fake). */
export type GoldenDialect = {
  readonly name: string
  readonly path: string
  /** Throw for what the public schema of the protocol does not allow. */
  readonly checkEvent: (event: unknown) => void
  readonly checkReply: (reply: unknown) => void
  readonly checkError: (error: unknown) => void
  body(script: string, options: { readonly stream: boolean; readonly tools: boolean }): object
}

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const description = 'The weather of a city.'

/** OpenAI's schema has no type for it. */
function isOpenaiError(value: unknown): void {
  expect(value).toEqual({
    error: { message: expect.any(String), type: expect.any(String), param: null, code: expect.any(String) },
  })
}

export const goldenDialects: readonly GoldenDialect[] = [
  {
    name: 'openai-chat',
    path: '/v1/chat/completions',
    checkEvent: createWireCheck('OpenAIChatCompletionChunk'),
    checkReply: createWireCheck('OpenAIChatCompletion'),
    checkError: isOpenaiError,
    body: (content, { stream, tools }) => ({
      model: 'default',
      messages: [{ role: 'user', content }],
      ...(stream && { stream, stream_options: { include_usage: true } }),
      ...(tools && { tools: [{ type: 'function', function: { name: 'weather', description, parameters } }] }),
    }),
  },
  {
    name: 'anthropic',
    path: '/v1/messages',
    checkEvent: createWireCheck('AnthropicStreamEvent'),
    checkReply: createWireCheck('AnthropicMessage'),
    checkError: createWireCheck('AnthropicErrorResponse'),
    body: (content, { stream, tools }) => ({
      model: 'default',
      max_tokens: 1000,
      thinking: { type: 'adaptive', display: 'summarized' },
      messages: [{ role: 'user', content }],
      stream,
      ...(tools && { tools: [{ name: 'weather', description, input_schema: parameters }] }),
    }),
  },
]

const ids = /\b(chatcmpl|msg|resp|rs|fc|ctc|cmp|call|toolu|req)[-_][0-9a-zA-Z]{8,}\b/g

/**
 * A reply or its events, without what differs between runs and engines: ids are numbered in order; times, and what each tokenizer counts
 * of a prompt, are 0.
 */
export function withoutChance(text: string): string {
  const seen = new Map<string, string>()
  const counts = new Map<string, number>()
  const named = text.replace(ids, (id, kind: string) => {
    const known = seen.get(id)
    if (known !== undefined) return known
    const count = (counts.get(kind) ?? 0) + 1
    counts.set(kind, count)
    const name = `${kind}_${count}`
    seen.set(id, name)
    return name
  })
  return named.replace(/"(created|created_at|completed_at|input_tokens|prompt_tokens|total_tokens)":\s?\d+/g, '"$1":0')
}
