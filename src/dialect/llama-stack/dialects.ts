import { randomHex } from '../../base/random-hex.ts'
import type { Dialect, StreamEncoder } from '../../contract/dialect.ts'
import type { GenerationResult } from '../../contract/result.ts'
import { type DecodedRequests, decodeBatchChat, decodeChat } from './decode-chat.ts'
import { decodeBatchCompletion, decodeCompletion } from './decode-completion.ts'
import { encodeBatchChat, encodeBatchCompletion, encodeChat, encodeCompletion } from './encode.ts'
import { createChatEncoder, createCompletionEncoder } from './encode-stream.ts'
import { encodeStackError } from './errors.ts'
import { withProviderData } from './provider-data.ts'

type Parts = {
  readonly decode: (body: unknown, id: string, serverTools?: ReadonlySet<string>) => DecodedRequests
  readonly encodeResult: (result: GenerationResult) => unknown
  readonly createStreamEncoder: () => StreamEncoder
}

/** llama-stack's generating routes; batches do not stream. */
export const stackDialects = {
  chat: createDialect({ decode: decodeChat, encodeResult: encodeChat, createStreamEncoder: createChatEncoder }),
  completion: createDialect({
    decode: decodeCompletion,
    encodeResult: encodeCompletion,
    createStreamEncoder: createCompletionEncoder,
  }),
  batchChat: createDialect({
    decode: decodeBatchChat,
    encodeResult: encodeBatchChat,
    createStreamEncoder: createChatEncoder,
  }),
  batchCompletion: createDialect({
    decode: decodeBatchCompletion,
    encodeResult: encodeBatchCompletion,
    createStreamEncoder: createCompletionEncoder,
  }),
} as const satisfies Record<string, Dialect>

function createDialect({ decode, encodeResult, createStreamEncoder }: Parts): Dialect {
  return withProviderData({
    decode: ({ body }, { id, serverTools }) => ({
      encodeResult,
      createStreamEncoder,
      ...decode(body, id, serverTools),
    }),
    createId: () => `stack-${randomHex()}`,
    encodeError: encodeStackError,
    heartbeat: ': \n\n',
    prefixes: ['/v1/inference', '/v1/batch-inference'],
  })
}
