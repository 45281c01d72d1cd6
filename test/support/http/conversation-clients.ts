import { outputOf } from '../../../src/canonical/parts.ts'
import type { GenerationEvent } from '../../../src/contract/event.ts'
import type { Message, OutputPart } from '../../../src/contract/request.ts'
import type { GenerationResult } from '../../../src/contract/result.ts'
import { createAnthropicMessages } from '../../../src/dialect/anthropic/dialect.ts'
import { stackDialects } from '../../../src/dialect/llama-stack/dialects.ts'
import { createOpenaiChat } from '../../../src/dialect/openai-chat/dialect.ts'
import { decodeResponse } from '../../../src/dialect/openai-responses/decode.ts'
import { createResponseEncoder } from '../../../src/dialect/openai-responses/encode/encoder.ts'
import { decodeNow } from '../decode-now.ts'
import { plainSealer as sealer } from '../plain-sealer.ts'

/** A client that holds a conversation as applications do: it keeps what the server replied, and sends it back. */
export interface ConversationClient {
  addUser(text: string): void
  addToolResult(callId: string, text: string): void
  /** Encodes a generation as the server's reply, and keeps it. */
  addReply(result: GenerationResult): void
  /** What the server reads of the conversation. */
  read(): readonly Message[]
}

const tool = { name: 'f', description: 'A tool.' }
const schema = { type: 'object' }

function messagesOf({ requests: [{ prompt }] }: { readonly requests: readonly [{ readonly prompt: unknown }, ...unknown[]] }) {
  const chat = prompt as { readonly messages: readonly Message[] }
  return chat.messages
}

/** A client of OpenAI's chat completions. */
export function chatClient(): ConversationClient {
  const dialect = createOpenaiChat({ reasoningFields: 'both', systemFingerprint: 'f' })
  const messages: unknown[] = []
  const decode = () =>
    decodeNow(dialect, { model: 'm', messages, tools: [{ type: 'function', function: { ...tool, parameters: schema } }] })
  return {
    addUser: (content) => messages.push({ role: 'user', content }),
    addToolResult: (tool_call_id, content) => messages.push({ role: 'tool', tool_call_id, content }),
    addReply: (result) => {
      const reply = decode().encodeResult(result) as { choices: readonly { message: unknown }[] }
      messages.push(reply.choices[0]?.message)
    },
    read: () => messagesOf(decode()),
  }
}

/** A client of Anthropic's Messages. */
export function messagesClient(): ConversationClient {
  const dialect = createAnthropicMessages({ sealerOf: () => sealer })
  const messages: unknown[] = []
  const decode = () =>
    decodeNow(dialect, {
      model: 'm',
      max_tokens: 1000,
      thinking: { type: 'adaptive' },
      messages,
      tools: [{ ...tool, input_schema: schema }],
    })
  return {
    addUser: (content) => messages.push({ role: 'user', content }),
    addToolResult: (tool_use_id, content) =>
      messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id, content }] }),
    addReply: (result) => {
      const { content } = decode().encodeResult(result) as { content: unknown }
      messages.push({ role: 'assistant', content })
    },
    read: () => messagesOf(decode()),
  }
}

/** A client of llama-stack, whose protocol has no reasoning. */
export function stackClient(): ConversationClient {
  const messages: unknown[] = []
  const tools = [{ tool_name: tool.name, description: tool.description, parameters: {} }]
  const decode = () => decodeNow(stackDialects.chat, { model_id: 'm', messages, tools })
  return {
    addUser: (content) => messages.push({ role: 'user', content }),
    addToolResult: (call_id, content) => messages.push({ role: 'tool', call_id, tool_name: tool.name, content }),
    addReply: (result) => {
      const reply = decode().encodeResult(result) as { completion_message: unknown }
      messages.push(reply.completion_message)
    },
    read: () => messagesOf(decode()),
  }
}

/** A client of OpenAI's Responses that lets the server store nothing. */
export function responsesClient(): ConversationClient {
  const input: unknown[] = []
  const decode = () => {
    const body = {
      model: 'm',
      input,
      store: false,
      include: ['reasoning.encrypted_content'],
      tools: [{ type: 'function', ...tool, parameters: schema }],
    }
    return decodeResponse(body, { id: 'resp_1', createdAtMs: 0, sealer, history: [], items: [] })
  }
  return {
    addUser: (content) => input.push({ role: 'user', content }),
    addToolResult: (call_id, output) => input.push({ type: 'function_call_output', call_id, output }),
    addReply: (result) => {
      const encoder = createResponseEncoder(decode())
      for (const event of eventsOf(result)) encoder.encode(event)
      input.push(...encoder.output.map(({ json }) => json))
    },
    read: () => messagesOf({ requests: [decode().request] }),
  }
}

/** The events that fold to this result of one choice. */
function eventsOf({ start, choices: [choice], usage, timings }: GenerationResult): readonly GenerationEvent[] {
  const reason = choice?.finish.reason ?? 'stop'
  return [
    start,
    ...outputOf(choice?.parts ?? []).flatMap(blockOf),
    { type: 'finish', choice: 0, reason },
    { type: 'usage', usage, timings },
  ]
}

function blockOf(part: OutputPart): readonly GenerationEvent[] {
  const choice = 0
  if (part.type === 'text')
    return [
      { type: 'text-start', choice },
      { type: 'text-delta', choice, delta: part.text },
      { type: 'text-end', choice },
    ]
  if (part.type === 'reasoning')
    return [
      { type: 'reasoning-start', choice },
      { type: 'reasoning-delta', choice, delta: part.text },
      { type: 'reasoning-end', choice },
    ]
  if (part.type === 'tool-call')
    return [
      { type: 'tool-call-start', choice, id: part.id, name: part.name },
      { type: 'tool-call-delta', choice, id: part.id, delta: part.input },
      { type: 'tool-call-end', choice, id: part.id },
    ]
  throw new Error(`conversations of tests have no part of type ${part.type}`)
}
