import { expect } from 'vitest'
import { checkResponse, checkResponseEvent } from './upstream/response-checks.ts'
import { stackCheck } from './upstream/stack-wire.ts'
import { createWireCheck } from './wire-schema.ts'

/** `function`: `weather`, with a city. `custom`: `note`, with free text. */
export type GoldenTool = 'function' | 'custom'

/** How a protocol asks for one scripted generation: the user's message is the script (engine/fake). */
export type GoldenDialect = {
  readonly name: string
  readonly path: string
  /** Throw for what the public schema of the protocol does not allow. */
  readonly checkEvent: (event: unknown) => void
  readonly checkReply: (reply: unknown) => void
  readonly checkError: (error: unknown) => void
  body(script: string, options: { readonly stream: boolean; readonly tool: GoldenTool | undefined }): object
  /** The protocol has tools with free text as input. */
  readonly hasCustomTools: boolean
}

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const description = 'The weather of a city.'

/** OpenAI's schema has no type for it. */
function isOpenaiError(value: unknown): void {
  expect(value).toEqual({
    error: { message: expect.any(String), type: expect.any(String), param: null, code: expect.any(String) },
  })
}

/** There is no public schema of Ollama's replies: this is what its clients read. */
function isOllamaLine(value: unknown): void {
  expect(value).toMatchObject({
    model: 'default',
    created_at: expect.stringMatching(/Z$/),
    message: { role: 'assistant', content: expect.any(String) },
    done: expect.any(Boolean),
  })
  const { done } = value as { readonly done: boolean }
  if (done) expect(value).toMatchObject({ done_reason: expect.stringMatching(/^(stop|length)$/), eval_count: expect.any(Number) })
}

export const goldenDialects: readonly GoldenDialect[] = [
  {
    name: 'openai-chat',
    path: '/v1/chat/completions',
    hasCustomTools: true,
    checkEvent: createWireCheck('OpenAIChatCompletionChunk'),
    checkReply: createWireCheck('OpenAIChatCompletion'),
    checkError: isOpenaiError,
    body: (content, { stream, tool }) => ({
      model: 'default',
      messages: [{ role: 'user', content }],
      ...(stream && { stream, stream_options: { include_usage: true } }),
      ...(tool === 'function' && { tools: [{ type: 'function', function: { name: 'weather', description, parameters } }] }),
      ...(tool === 'custom' && { tools: [{ type: 'custom', custom: { name: 'note' } }] }),
    }),
  },
  {
    name: 'anthropic',
    path: '/v1/messages',
    hasCustomTools: false,
    checkEvent: createWireCheck('AnthropicStreamEvent'),
    checkReply: createWireCheck('AnthropicMessage'),
    checkError: createWireCheck('AnthropicErrorResponse'),
    body: (content, { stream, tool }) => ({
      model: 'default',
      max_tokens: 1000,
      thinking: { type: 'adaptive', display: 'summarized' },
      messages: [{ role: 'user', content }],
      stream,
      ...(tool === 'function' && { tools: [{ name: 'weather', description, input_schema: parameters }] }),
    }),
  },
  {
    name: 'openai-responses',
    path: '/v1/responses',
    hasCustomTools: true,
    checkEvent: checkResponseEvent,
    checkReply: checkResponse,
    checkError: isOpenaiError,
    body: (input, { stream, tool }) => ({
      model: 'default',
      input,
      stream,
      store: false,
      // Replies repeat them, and engines differ in their defaults.
      temperature: 1,
      top_p: 1,
      include: ['reasoning.encrypted_content'],
      ...(tool === 'function' && { tools: [{ type: 'function', name: 'weather', description, parameters, strict: false }] }),
      ...(tool === 'custom' && { tools: [{ type: 'custom', name: 'note' }] }),
    }),
  },
  {
    name: 'llama-stack',
    path: '/v1/inference/chat-completion',
    hasCustomTools: false,
    checkEvent: stackCheck('chatEvent'),
    checkReply: stackCheck('chatReply'),
    checkError: stackCheck('error'),
    body: (content, { stream, tool }) => ({
      model_id: 'default',
      messages: [{ role: 'user', content }],
      stream,
      ...(tool === 'function' && { tools: [{ tool_name: 'weather', description, parameters: { city: { param_type: 'str' } } }] }),
    }),
  },
  {
    name: 'ollama',
    path: '/api/chat',
    hasCustomTools: false,
    checkEvent: isOllamaLine,
    checkReply: (reply) => {
      isOllamaLine(reply)
      expect(reply).toMatchObject({ done: true })
    },
    checkError: (error) => expect(error).toEqual({ error: expect.any(String) }),
    body: (content, { stream, tool }) => ({
      model: 'default',
      messages: [{ role: 'user', content }],
      stream,
      ...(tool === 'function' && { tools: [{ type: 'function', function: { name: 'weather', description, parameters } }] }),
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
  return named
    .replace(/"(created|created_at|completed_at|input_tokens|prompt_tokens|total_tokens)":\s?\d+/g, '"$1":0')
    .replace(/"(\w+_duration|prompt_eval_count)":\s?\d+/g, '"$1":0')
    .replace(/"((?:cache|prompt|predicted)_(?:n|ms|per_\w+))":\s?[\d.]+/g, '"$1":0')
    .replace(/"created_at":\s?"[^"]+"/g, '"created_at":"0"')
    .replace(/("metric":\s?"(?:prompt|total)_tokens",\s*"value"):\s?\d+/g, '$1:0')
}
