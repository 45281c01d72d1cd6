import { randomUUID } from 'node:crypto'
import type { Dialect } from '../../contract/dialect.ts'
import { encodeOpenaiError } from '../openai/errors.ts'
import type { ReplyHead } from '../openai/reply-head.ts'
import { decodeCompletion } from './decode.ts'
import { encodeResult, type ReplyStyle } from './encode.ts'
import { createChunkEncoder } from './encode-stream.ts'

/** OpenAI's `POST /v1/completions`. */
export function createOpenaiCompletions({ systemFingerprint }: { readonly systemFingerprint: string }): Dialect {
  return {
    decode(body, requestId) {
      const { requests, echoes, stream, includeUsage, ignored } = decodeCompletion(body, requestId)
      const [{ choices, logprobs }] = requests
      const createdSeconds = Math.floor(Date.now() / 1000)
      const headOf = (model: string): ReplyHead => ({ id: requestId, createdSeconds, model, systemFingerprint })
      const style: ReplyStyle = { echoes, choicesPerPrompt: choices, logprobs: logprobs !== undefined }
      return {
        requests,
        stream,
        ignored,
        encodeResult: (result, model) => encodeResult(result, headOf(model), style),
        createStreamEncoder: (model) => createChunkEncoder(headOf(model), { ...style, includeUsage }),
      }
    },
    createId: () => `cmpl-${randomUUID().replaceAll('-', '')}`,
    encodeError: encodeOpenaiError,
    heartbeat: ': \n\n',
  }
}
