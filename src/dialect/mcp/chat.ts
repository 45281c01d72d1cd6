import { randomHex } from '../../base/random-hex.ts'
import type { Dialect, StreamEncoder } from '../../contract/dialect.ts'
import type { AppError } from '../../contract/errors.ts'
import type { FinishReason, Usage } from '../../contract/event.ts'
import { isTruncated } from '../../contract/is-truncated.ts'
import { toFrameJson } from '../wire/json/frame-json.ts'
import { encodeStream, withoutCalls } from '../wire/stream/encode-stream.ts'
import { validate } from '../wire/validate.ts'
import { encodeMcpError, encodeMcpResult, type McpRequest, type McpResult } from './messages.ts'
import { chatArguments } from './tools.ts'

/** A call of the tool `chat`. */
export type McpChat = {
  readonly request: McpRequest
  readonly arguments: unknown
  /** The client reads events: the connection shows that it is alive, and the call its progress. */
  readonly stream: boolean
}

/** The tool `chat`, whose arguments are a part of a chat completion. */
export function createMcpChat(chat: Dialect, version: string): Dialect {
  return {
    async decode({ body, headers }, context) {
      const { request, arguments: given, stream } = body as McpChat
      const { progressToken } = (request.params._meta ?? {}) as { readonly progressToken?: string | number }
      const fields = validate(chatArguments, given)
      const call = await chat.decode(
        { headers, body: { ...fields, stream, return_progress: progressToken !== undefined } },
        context,
      )
      const encode = (reply: Reply) => encodeMcpResult(request, resultOf(reply), version)
      return {
        ...call,
        encodeResult: ({ start, choices: [choice], usage }) => {
          const texts = choice?.parts.map((part) => (part.type === 'text' || part.type === 'refusal' ? part.text : ''))
          return encode({ model: start.model, text: texts?.join('') ?? '', reason: choice?.finish.reason, usage })
        },
        createStreamEncoder: () =>
          createEncoder({
            progressToken,
            encode,
            encodeError: (error) => encodeMcpResult(request, failedTool(error.inWordsOf(call.nameOf)), version),
          }),
      }
    },
    createId: () => `mcp-${randomHex()}`,
    encodeError: encodeMcpError,
    heartbeat: ': \n\n',
    prefixes: ['/mcp'],
  }
}

/** The result of a tool that has failed: models read it, and can correct their call. */
export function failedTool({ message }: AppError): McpResult {
  return { content: [{ type: 'text', text: message }], isError: true }
}

type Reply = {
  readonly model: string
  readonly text: string
  readonly reason: FinishReason | undefined
  readonly usage: Usage
}

function resultOf({ model, text, reason = 'stop', usage: { inputTokens, outputTokens } }: Reply): McpResult {
  const usage = { input_tokens: inputTokens, output_tokens: outputTokens }
  const note = `[The reply lacks its end: ${reason}${reason === 'length' ? ', raise max_tokens' : ''}]`
  return {
    content: [text, ...(isTruncated({ reason }) ? [note] : [])].map((each) => ({ type: 'text', text: each })),
    isError: false,
    _meta: { 'dragoman/reply': { model, finish_reason: reason, usage } },
  }
}

type Encoding = {
  readonly progressToken: string | number | undefined
  encode(reply: Reply): object
  encodeError(error: AppError): object
}

function createEncoder({ progressToken, encode, encodeError }: Encoding): StreamEncoder {
  let model = ''
  let text = ''
  let reason: FinishReason | undefined
  let progress = 0
  const frame = (message: object) => `event: message\ndata: ${toFrameJson(message)}\n\n`
  const advance = (message: string) => {
    if (progressToken === undefined) return ''
    progress += 1
    const params = { progressToken, progress, message }
    return frame({ jsonrpc: '2.0', method: 'notifications/progress', params })
  }
  const add = (delta: string) => {
    text += delta
    return advance('the model answers')
  }
  return encodeStream({
    ...withoutCalls,
    start: (event) => {
      model = event.model
      return ''
    },
    'prompt-progress': ({ readTokens, inputTokens }) => advance(`${readTokens} of ${inputTokens} tokens of the prompt are read`),
    'reasoning-delta': () => advance('the model reasons'),
    'text-delta': ({ delta }) => add(delta),
    'refusal-delta': ({ delta }) => add(delta),
    finish: (event) => {
      reason = event.reason
      return ''
    },
    usage: ({ usage }) => frame(encode({ model, text, reason, usage })),
    error: ({ error }) => frame(encodeError(error)),
  })
}
