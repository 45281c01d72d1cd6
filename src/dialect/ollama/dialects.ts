import { randomHex } from '../../base/random-hex.ts'
import type { CallInput, DecodedCall, Dialect } from '../../contract/dialect.ts'
import { AppError } from '../../contract/errors.ts'
import type { StartEvent } from '../../contract/event.ts'
import { decodeChat } from './decode-chat.ts'
import { decodeGenerate } from './decode-generate.ts'
import { type Clock, encodeResult } from './encode.ts'
import { createLineEncoder } from './encode-stream.ts'
import { encodeOllamaError } from './errors.ts'
import type { DecodedOllama, ReplyStyle } from './style.ts'

type Decode = (input: Pick<CallInput, 'body' | 'exactBody'>, id: string) => DecodedOllama

export const ollamaDialects = {
  chat: createDialect(({ body, exactBody }, id) => decodeChat(body, id, exactBody)),
  generate: createDialect(({ body }, id) => decodeGenerate(body, id)),
} as const satisfies Record<string, Dialect>

function createDialect(decode: Decode): Dialect {
  return {
    decode(input, { id }): DecodedCall {
      const { request, isStreamed, style, keepLoaded, ignored, nameOf } = decode(input, id)
      const clock: Clock = { wallMs: () => Date.now() }
      return {
        requests: [request],
        stream: isStreamed,
        ignored,
        ...(keepLoaded !== undefined && { keepLoaded }),
        nameOf,
        checkStart: (start) => checkThinking(start, style),
        encodeResult: (result) => encodeResult(result, style, clock),
        createStreamEncoder: () => createLineEncoder(style, clock),
      }
    },
    createId: () => `ollama-${randomHex()}`,
    encodeError: encodeOllamaError,
    heartbeat: '',
    framing: 'lines',
    prefixes: ['/api/chat', '/api/generate'],
  }
}

/** Throws if a caller requests thinking of a model whose template does not support it. */
function checkThinking({ reasons, ignored = [] }: StartEvent, { model, thinks }: ReplyStyle): void {
  if (thinks === undefined || thinks === false || reasons === true) return
  if (!ignored.some(([root]) => root === 'reasoning')) return
  throw new AppError('invalid-request', `"${model}" does not support thinking`, { param: 'think' })
}
