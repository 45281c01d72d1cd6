import type { AppError } from '../../contract/errors.ts'
import type { EventOf, FinishReason, GenerationEvent, ServerToolCall, StartEvent } from '../../contract/event.ts'
import type { JsonObject } from '../../contract/request.ts'
import { encodeTimings } from '../openai/times/encode-timings.ts'
import { toFrameJson } from '../wire/json/frame-json.ts'
import { handleEvents } from '../wire/stream/encode-stream.ts'
import { pluginId } from './decode-chat.ts'
import { encodeLmStudioError } from './errors.ts'
import type { Answer, OutputItem, Provider } from './replies.ts'

type ChatOptions = {
  readonly model: string
  /** The labels of the MCP servers whose addresses the request has. */
  readonly ownServers: ReadonlySet<string>
  /** The id of the answer; undefined unless it is stored. Asked at the end. */
  responseId(): string | undefined
}

const noCost = {
  usage: { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 },
  timings: {},
} as const

const stopReasons: Readonly<Record<FinishReason, string>> = {
  stop: 'eosFound',
  'end-of-message': 'eosFound',
  length: 'maxPredictedTokensReached',
  'context-full': 'contextLengthReached',
  'tool-calls': 'toolCalls',
  cancelled: 'userStopped',
  'content-filter': 'failed',
  refusal: 'eosFound',
  paused: 'failed',
}

/** Why the output ended, in the words of LM Studio. */
export function stopReasonOf({ reason, stopSequence }: EventOf<'finish'>): string {
  return reason === 'stop' && stopSequence !== undefined ? 'stopStringFound' : stopReasons[reason]
}

/** The answer of a chat: its events as frames, and all of it at the end. */
export class ChatEncoder {
  readonly #options: ChatOptions
  readonly #output: OutputItem[] = []
  readonly #calls = new Map<string, ServerToolCall>()
  /** The text of the open block. */
  #open: { readonly type: 'message' | 'reasoning'; text: string } | undefined
  #phase: 'new' | 'started' | 'loading' | 'reading' | 'writing' = 'new'
  #model: string
  #finish: EventOf<'finish'> | undefined
  #cost: Pick<EventOf<'usage'>, 'usage' | 'timings'> = noCost

  constructor(options: ChatOptions) {
    this.#options = options
    this.#model = options.model
  }

  encode(event: GenerationEvent): string {
    return this.#handle(event)
  }

  /** The model loads for this answer. */
  loading(progress: number): string {
    if (this.#phase === 'loading') return this.#frame('model_load.progress', { progress })
    const begin = this.#begin()
    this.#phase = 'loading'
    return begin + this.#frame('model_load.start') + this.#frame('model_load.progress', { progress })
  }

  /** The load has ended after these seconds. */
  loaded(seconds: number): string {
    if (this.#phase !== 'loading') return ''
    this.#phase = 'started'
    return this.#frame('model_load.progress', { progress: 1 }) + this.#frame('model_load.end', { load_time_seconds: seconds })
  }

  result(): Answer {
    const { usage, timings } = this.#cost
    const id = this.#options.responseId()
    return {
      model_instance_id: this.#model,
      output: this.#output,
      stats: {
        input_tokens: usage.inputTokens,
        total_output_tokens: usage.outputTokens,
        reasoning_output_tokens: usage.reasoningTokens,
        tokens_per_second: encodeTimings(this.#cost).predicted_per_second,
        time_to_first_token_seconds: (timings.firstTokenMs ?? 0) / 1000,
        ...((timings.loadMs ?? 0) > 0 && { model_load_time_seconds: (timings.loadMs ?? 0) / 1000 }),
        ...(this.#finish !== undefined && { stop_reason: stopReasonOf(this.#finish) }),
      },
      ...(id !== undefined && { response_id: id }),
    }
  }

  readonly #handle = handleEvents<string>(
    {
      start: (event) => this.#start(event),
      'prompt-progress': ({ readTokens, inputTokens }) =>
        frame('prompt_processing.progress', { progress: inputTokens === 0 ? 1 : readTokens / inputTokens }),
      'prompt-read': () => this.#read(),
      'text-delta': ({ delta }) => this.#write('message', delta),
      'reasoning-delta': ({ delta }) => this.#write('reasoning', delta),
      'refusal-delta': ({ delta }) => this.#write('message', delta),
      'text-end': () => this.#close(),
      'reasoning-end': () => this.#close(),
      'refusal-end': () => this.#close(),
      // A request of this protocol declares no functions.
      'tool-call-start': () => '',
      'tool-call-delta': () => '',
      'tool-call-end': () => '',
      'mcp-tools': (event) => this.#listTools(event),
      'server-tool-start': ({ call }) => this.#beginCall(call),
      'server-tool-end': (event) => this.#endCall(event),
      finish: (event) => {
        this.#finish = event
        return this.#read() + this.#close()
      },
      usage: ({ usage, timings }) => {
        this.#cost = { usage, timings }
        return this.#read() + this.#close() + frame('chat.end', { result: this.result() })
      },
      error: ({ error }) => this.#fail(error),
    },
    () => '',
  )

  #begin(): string {
    if (this.#phase !== 'new') return ''
    this.#phase = 'started'
    return this.#frame('chat.start')
  }

  #start({ model }: StartEvent): string {
    this.#model = model
    const begin = this.#begin()
    this.#phase = 'reading'
    return begin + frame('prompt_processing.start')
  }

  #read(): string {
    if (this.#phase !== 'reading') return ''
    this.#phase = 'writing'
    return frame('prompt_processing.end')
  }

  #write(type: 'message' | 'reasoning', delta: string): string {
    // Such events only carry tokens.
    if (delta === '') return ''
    const before = this.#read() + (this.#open?.type === type ? '' : this.#close())
    const start = this.#open === undefined ? frame(`${type}.start`) : ''
    this.#open ??= { type, text: '' }
    this.#open.text += delta
    return before + start + frame(`${type}.delta`, { content: delta })
  }

  #close(): string {
    if (this.#open === undefined) return ''
    const { type, text } = this.#open
    this.#open = undefined
    this.#output.push({ type, content: text })
    return frame(`${type}.end`)
  }

  #beginCall(call: ServerToolCall): string {
    this.#calls.set(call.id, call)
    const { tool, provider_info } = this.#named(call)
    const before = this.#read() + this.#close()
    const args = { tool, arguments: call.arguments, provider_info }
    return before + frame('tool_call.start', { tool, provider_info }) + frame('tool_call.arguments', args)
  }

  #endCall({ id, outcome }: EventOf<'server-tool-end'>): string {
    const call = this.#calls.get(id)
    if (call === undefined) return ''
    const done = { tool: this.#named(call).tool, arguments: call.arguments, output: outcome.text }
    const all = { ...done, provider_info: this.#named(call).provider_info }
    this.#output.push({ type: 'tool_call', ...all })
    return frame('tool_call.success', all)
  }

  /** Tools that cannot be called, in the place of the call that the model could not make. */
  #listTools({ server, error }: EventOf<'mcp-tools'>): string {
    if (error === undefined) return ''
    const reason = `the tools of the MCP server '${server}' are not available: ${error}`
    const metadata = { type: 'invalid_name', tool_name: server, arguments: {}, provider_info: this.#provider(server) }
    this.#output.push({ type: 'invalid_tool_call', reason, metadata })
    return this.#read() + frame('tool_call.failure', { reason, metadata })
  }

  #named({ name, mcp }: ServerToolCall): { readonly tool: string; readonly provider_info: Provider } {
    return mcp === undefined
      ? { tool: name, provider_info: { type: 'plugin', plugin_id: name } }
      : { tool: mcp.name, provider_info: this.#provider(mcp.server) }
  }

  #provider(label: string): Provider {
    return this.#options.ownServers.has(label)
      ? { type: 'ephemeral_mcp', server_label: label }
      : { type: 'plugin', plugin_id: pluginId(label) }
  }

  #fail(error: AppError): string {
    const before = this.#begin() + this.#close()
    return before + frame('error', encodeLmStudioError(error).body) + frame('chat.end', { result: this.result() })
  }

  #frame(type: string, fields: JsonObject = {}): string {
    return frame(type, { model_instance_id: this.#model, ...fields })
  }
}

function frame(type: string, fields: JsonObject = {}): string {
  return `event: ${type}\ndata: ${toFrameJson({ type, ...fields })}\n\n`
}
