import { randomHex } from '../../base/random-hex.ts'
import type { Dialect } from '../../contract/dialect.ts'
import type { StartEvent } from '../../contract/event.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import type { GenerationResult } from '../../contract/result.ts'
import { encodeOpenaiError } from '../openai/errors.ts'
import type { ReplyHead } from '../openai/reply-head.ts'
import type { UsageTimes } from '../openai/times/encode-timings.ts'
import { withRunningTimings } from '../openai/times/running-timings.ts'
import { readCancelKeys } from '../wire/cancel-keys.ts'
import { decodeChat } from './decode.ts'
import { encodeResult, type ReasoningFields, type ReplyStyle } from './encode.ts'
import { createChunkEncoder } from './encode-stream.ts'
import { toStored } from './stored.ts'

type OpenaiChatOptions = {
  readonly reasoningFields: ReasoningFields
  /** The servers whose time fields `usage` includes; absent: none. */
  readonly usageTimes?: readonly UsageTimes[] | undefined
  /** Changes whenever the same seed may produce another text. */
  readonly systemFingerprint: string
}

/** OpenAI's `POST /v1/chat/completions`. */
export function createOpenaiChat({ reasoningFields, usageTimes, systemFingerprint }: OpenaiChatOptions): Dialect {
  return {
    decode({ headers, body }, { id, requestId = null, readsToolFrames = false, keepsCompletions = false }) {
      const decoded = decodeChat(body, id, keepsCompletions)
      const { stream, kept, ignored, nameOf } = decoded
      const showsTools = readsToolFrames && stream
      const request = withApprovals(decoded.request, showsTools)
      const createdAtMs = Date.now()
      const createdSeconds = Math.floor(createdAtMs / 1000)
      const headOf = ({ model }: StartEvent): ReplyHead => ({ id, createdSeconds, model, systemFingerprint })
      const style: ReplyStyle = {
        reasoningFields: decoded.showsReasoning ? reasoningFields : 'none',
        legacyCalls: decoded.legacyCalls,
        logprobs: request.logprobs !== undefined,
        promptLogprobs: request.promptTokens !== undefined,
        usageTimes,
        ...(request.toolUse !== undefined && { session: readCancelKeys({ headers, body }).sessionId ?? id }),
        ...(showsTools && request.toolUse !== undefined && { showsTools }),
      }
      const encode = (result: GenerationResult) => encodeResult(result, headOf(result.start), style)
      return {
        requests: [request],
        stream,
        ignored,
        nameOf,
        ...(kept !== undefined && {
          toStored: (result) => toStored(kept, { id, requestId, createdAtMs, completion: encode(result) }),
        }),
        encodeResult: encode,
        createStreamEncoder: () => {
          const encoder = createChunkEncoder(headOf, { includeUsage: decoded.includeUsage, ...style })
          return withRunningTimings(encoder, decoded.timingsPerToken)
        },
      }
    },
    createId: () => `chatcmpl-${randomHex()}`,
    encodeError: encodeOpenaiError,
    heartbeat: ': \n\n',
    prefixes: ['/v1/chat'],
  }
}

/** Only a client that sees the frames can be asked. */
function withApprovals(request: GenerationRequest, showsTools: boolean): GenerationRequest {
  const { toolUse } = request
  return toolUse === undefined || !showsTools ? request : { ...request, toolUse: { ...toolUse, asks: 'with-event' } }
}
