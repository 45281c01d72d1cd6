import { randomUUID } from 'node:crypto'
import type { Dialect } from '../dialect.ts'
import { systemFingerprint } from '../fingerprint.ts'
import { encodeOpenaiError } from '../openai-errors.ts'
import { decodeChat } from './decode.ts'
import { encodeResult, type ReplyHead } from './encode.ts'
import { createChunkEncoder } from './encode-stream.ts'

/** OpenAI's `POST /v1/chat/completions`. */
export const openaiChat: Dialect = {
  decode(body, requestId) {
    const { includeUsage, ...call } = decodeChat(body, requestId)
    const createdSeconds = Math.floor(Date.now() / 1000)
    const headOf = (model: string): ReplyHead => ({ id: requestId, createdSeconds, model, systemFingerprint })
    return {
      ...call,
      encodeResult: (result, model) => encodeResult(result, headOf(model)),
      createStreamEncoder: (model) => createChunkEncoder(headOf(model), includeUsage),
    }
  },
  // Node draws the bits of many UUIDs at once; asking for a few bytes each time costs ten times as much (measured).
  createId: () => `chatcmpl-${randomUUID().replaceAll('-', '')}`,
  encodeError: encodeOpenaiError,
  heartbeat: ': \n\n',
}
