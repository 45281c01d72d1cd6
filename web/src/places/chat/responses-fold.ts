import type { Chunk } from './answer-fold.ts'
import type { Message, Settings } from './conversation.ts'

/** Tools that the server runs are asked for in the Responses protocol, which shows what they do. */
export function usesServerTools({ serverTools }: Settings): boolean {
  return (
    serverTools !== undefined &&
    (serverTools.web === true || serverTools.python === true || (serverTools.mcp ?? '').trim() !== '')
  )
}

type Item = Readonly<Record<string, unknown>>

/** The body of a response that answers these messages. */
export function responsesBody(path: readonly Message[], settings: Settings, model: string): Item {
  const { system, sampling, thinking, tools, serverTools = {}, schema } = settings
  const { max_tokens: limit, ...others } = sampling
  const own = tools.trim() === '' ? [] : (JSON.parse(tools) as { readonly function?: object }[])
  return {
    model,
    ...(system.trim() !== '' && { instructions: system }),
    input: path.flatMap(toItems),
    ...others,
    ...(limit !== undefined && { max_output_tokens: limit }),
    ...(thinking !== undefined && { enable_thinking: thinking }),
    ...(schema.trim() !== '' && {
      text: { format: { type: 'json_schema', name: 'answer', strict: true, schema: JSON.parse(schema) as unknown } },
    }),
    tools: [
      ...own.map((tool) => ({ type: 'function', ...tool.function })),
      ...(serverTools.web === true ? [{ type: 'web_search' }] : []),
      ...(serverTools.python === true ? [{ type: 'code_interpreter', container: { type: 'auto' } }] : []),
      ...(serverTools.mcp ?? '')
        .split(',')
        .map((label) => label.trim())
        .filter((label) => label !== '')
        .map((label) => ({ type: 'mcp', server_label: label, require_approval: 'never' })),
    ],
    store: false,
  }
}

function toItems({ role, text, attachments = [], calls = [] }: Message): Item[] {
  if (role === 'user') {
    const parts = attachments.map(({ kind, name, data }) =>
      kind === 'image'
        ? { type: 'input_image', image_url: data, detail: 'auto' }
        : { type: 'input_text', text: kind === 'text' ? `File ${name}:\n\n${data}` : `(the sound ${name})` },
    )
    return [{ role, content: [...parts, ...(text === '' ? [] : [{ type: 'input_text', text }])] }]
  }
  const own = calls.filter(({ by }) => by === 'caller')
  return [
    ...(text === '' ? [] : [{ role, content: [{ type: 'output_text', text, annotations: [] }] }]),
    ...own.map(({ id, name, input }) => ({ type: 'function_call', call_id: id, name, arguments: input })),
    ...own.map(({ id, result }) => ({ type: 'function_call_output', call_id: id, output: result ?? '' })),
  ]
}

type ResponseEvent = {
  readonly type: string
  readonly delta?: string
  readonly message?: string
  readonly item?: Item
  readonly response?: {
    readonly error?: { readonly message?: string } | null
    readonly incomplete_details?: { readonly reason?: string } | null
    readonly usage?: {
      readonly input_tokens: number
      readonly output_tokens: number
      readonly input_tokens_details?: { readonly cached_tokens?: number }
    } | null
  }
}

/** What an event of a response means, as chunks of a chat have it: one fold serves both. */
export class ResponseReader {
  #calls = 0

  read(event: ResponseEvent): Chunk {
    const { type, delta = '', item, response } = event
    switch (type) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        return { choices: [{ delta: { content: delta } }] }
      case 'response.reasoning_text.delta':
      case 'response.reasoning_summary_text.delta':
        return { choices: [{ delta: { reasoning_content: delta } }] }
      case 'response.output_item.added':
        return serverCall(item) ?? {}
      case 'response.output_item.done':
        return item?.type === 'function_call' ? this.#ownCall(item) : (serverCall(item) ?? {})
      case 'response.completed':
      case 'response.incomplete':
        return {
          choices: [{ finish_reason: type === 'response.completed' ? this.#finish() : reasonOf(response) }],
          ...usageOf(response),
        }
      case 'response.failed':
        return { error: { message: response?.error?.message ?? 'the server ended the answer with an error' } }
      case 'error':
        return { error: { message: event.message ?? 'the server ended the answer with an error' } }
      default:
        return {}
    }
  }

  #finish(): string {
    return this.#calls > 0 ? 'tool_calls' : 'stop'
  }

  #ownCall({ call_id: id, name, arguments: input }: Item): Chunk {
    const index = this.#calls
    this.#calls += 1
    const call = { index, id: String(id), function: { name: String(name), arguments: String(input) } }
    return { choices: [{ delta: { tool_calls: [call] } }] }
  }
}

/** A call that the server runs, as it begins and as it has ended; undefined for other items. */
function serverCall(item: Item | undefined): Chunk | undefined {
  if (item === undefined) return undefined
  const { type, id, status } = item
  const isEnded = status === 'completed' || status === 'failed' || status === 'incomplete'
  const call = (name: string, input: unknown, result: unknown) => ({
    server_call: {
      id: String(id),
      name,
      input: typeof input === 'string' ? input : JSON.stringify(input ?? {}),
      ...(isEnded && { result: textOf(result) }),
      ...(status === 'failed' && { isError: true }),
    },
  })
  switch (type) {
    case 'web_search_call':
      return call('web_search', item.action, item.output ?? Reflect.get(Object(item.action), 'sources'))
    case 'code_interpreter_call':
      return call('python', item.code, item.outputs)
    case 'mcp_call':
      return call(`${String(item.server_label)}: ${String(item.name)}`, item.arguments, item.output ?? item.error)
    default:
      return undefined
  }
}

function textOf(result: unknown): string {
  if (typeof result === 'string') return result
  if (Array.isArray(result))
    return result.map((each) => String(Reflect.get(Object(each), 'logs') ?? JSON.stringify(each))).join('\n')
  return result == null ? '' : JSON.stringify(result, null, 2)
}

function reasonOf(response: ResponseEvent['response']): string {
  return response?.incomplete_details?.reason === 'content_filter' ? 'content_filter' : 'length'
}

function usageOf(response: ResponseEvent['response']): Pick<Chunk, 'usage'> {
  const usage = response?.usage
  if (usage == null) return {}
  const { input_tokens: input, output_tokens: output, input_tokens_details: details } = usage
  return {
    usage: { prompt_tokens: input, completion_tokens: output, ...(details !== undefined && { prompt_tokens_details: details }) },
  }
}
