import { fileAsText } from '../../../../src/documents/as-message.ts'
import type { Attachment, Conversation, Message, Settings } from './conversation.ts'
import { isObject } from './json-object.ts'

type WireMessage = Readonly<Record<string, unknown>> & { readonly role: string }
export type ChatBody = Readonly<Record<string, unknown>> & { readonly model: string; readonly messages: readonly WireMessage[] }

/** The sampling fields of the drawer, by their names in requests and in the server's properties. */
export const samplingFields = [
  { field: 'temperature', inForce: 'temperature', step: 0.1 },
  { field: 'top_p', inForce: 'top_p', step: 0.05 },
  { field: 'top_k', inForce: 'top_k', step: 1 },
  { field: 'min_p', inForce: 'min_p', step: 0.01 },
  { field: 'repetition_penalty', inForce: 'repeat_penalty', step: 0.05 },
  { field: 'presence_penalty', inForce: 'presence_penalty', step: 0.1 },
  { field: 'frequency_penalty', inForce: 'frequency_penalty', step: 0.1 },
  { field: 'seed', step: 1 },
  { field: 'max_tokens', step: 1 },
] as const

/** The body of a chat completion that answers these messages; with `continues`, the last one is the start of the answer. */
export function chatBody(
  path: readonly Message[],
  settings: Settings,
  { model, continues = false }: { model: string; continues?: boolean },
): ChatBody {
  const { system, sampling, thinking, tools, schema, logprobs } = settings
  return {
    model,
    messages: [...(system.trim() === '' ? [] : [{ role: 'system', content: system }]), ...path.flatMap(toWire)],
    ...sampling,
    ...(thinking !== undefined && { enable_thinking: thinking }),
    ...(tools.trim() !== '' && { tools: JSON.parse(tools) as unknown }),
    ...(schema.trim() !== '' && {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', strict: true, schema: JSON.parse(schema) as unknown },
      },
    }),
    ...(logprobs === true && { logprobs: true, top_logprobs: 5 }),
    ...(continues && { continue_final_message: true }),
  }
}

/** An MCP server of the person, with its token. */
export type WireServer = {
  readonly type: 'url'
  readonly name: string
  readonly url: string
  readonly authorization_token?: string
  readonly tool_configuration?: { readonly allowed_tools: readonly string[] }
}

/** Further fields of a chat completion for the server's tools, which replace the client's. `own`: MCP servers of the person, with some or all of their tools. */
export function serverToolFields({ serverTools }: Settings, sessionId: string, own: readonly WireServer[] = []) {
  const isOwn = (name: string) => own.some((server) => name === server.name || name.startsWith(`${server.name}__`))
  return {
    tools: undefined,
    enable_tools: true,
    enabled_tools: (serverTools?.names ?? []).filter((name) => !isOwn(name)),
    ...(own.length > 0 && { mcp_servers: own }),
    permission_mode: serverTools?.asks === true ? 'ask' : 'auto',
    session_id: sessionId,
  }
}

function toWire(message: Message): WireMessage[] {
  if (message.role === 'user') return [{ role: 'user', content: contentOf(message) }]
  const calls = (message.calls ?? []).filter(({ by }) => by === 'caller')
  return [
    {
      role: 'assistant',
      content: message.text,
      ...(message.reasoning !== undefined && { reasoning_content: message.reasoning }),
      ...(calls.length > 0 && {
        tool_calls: calls.map(({ id, name, input }) => ({ id, type: 'function', function: { name, arguments: input } })),
      }),
    },
    ...calls.map(({ id, result }) => ({ role: 'tool', tool_call_id: id, content: result ?? '' })),
  ]
}

function contentOf({ text, attachments = [] }: Message): unknown {
  if (attachments.length === 0) return text
  return [...attachments.map(partOf), ...(text === '' ? [] : [{ type: 'text', text }])]
}

function partOf({ kind, name, type, data }: Attachment): unknown {
  switch (kind) {
    case 'image':
      return { type: 'image_url', image_url: { url: data } }
    case 'audio':
      return {
        type: 'input_audio',
        input_audio: { data: data.slice(data.indexOf(',') + 1), format: type.replace(/^audio\/(x-)?/, '') },
      }
    case 'text':
      return { type: 'text', text: fileAsText(name, data) }
  }
}

/** What is wrong with a JSON text; undefined if nothing, or if it is empty. */
export function jsonProblem(text: string, kind: 'array' | 'object'): string | undefined {
  if (text.trim() === '') return undefined
  try {
    const value: unknown = JSON.parse(text)
    const isRight = kind === 'array' ? Array.isArray(value) : isObject(value)
    return isRight ? undefined : `This must be a JSON ${kind}.`
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** The settings without invalid JSON: its field reports it, and the rest is sent. */
export function readable(settings: Settings): Settings {
  return {
    ...settings,
    tools: jsonProblem(settings.tools, 'array') === undefined ? settings.tools : '',
    schema: jsonProblem(settings.schema, 'object') === undefined ? settings.schema : '',
  }
}

/** The conversation's body for programs. */
export function bodyOf(conversation: Conversation, path: readonly Message[], model: string): ChatBody {
  return chatBody(path, readable(conversation.settings), { model })
}
