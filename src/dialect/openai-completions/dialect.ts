import { randomHex } from '../../base/random-hex.ts'
import type { Dialect } from '../../contract/dialect.ts'
import type { StartEvent } from '../../contract/event.ts'
import { encodeOpenaiError } from '../openai/errors.ts'
import type { ReplyHead } from '../openai/reply-head.ts'
import type { UsageTimes } from '../openai/times/encode-timings.ts'
import { withRunningTimings } from '../openai/times/running-timings.ts'
import { decodeCompletion } from './decode.ts'
import { encodeResult, type ReplyStyle } from './encode.ts'
import { createChunkEncoder } from './encode-stream.ts'

type OpenaiCompletionsOptions = {
  readonly systemFingerprint: string
  /** The servers whose time fields `usage` includes; absent: none. */
  readonly usageTimes?: readonly UsageTimes[] | undefined
}

/** OpenAI's `POST /v1/completions`. */
export function createOpenaiCompletions({ systemFingerprint, usageTimes }: OpenaiCompletionsOptions): Dialect {
  return {
    decode({ body }, { id }) {
      const { requests, echoes, promptLogprobs, stream, includeUsage, timingsPerToken, ignored, nameOf } = decodeCompletion(
        body,
        id,
      )
      const [{ choices, logprobs }] = requests
      const createdSeconds = Math.floor(Date.now() / 1000)
      const headOf = ({ model }: StartEvent): ReplyHead => ({ id, createdSeconds, model, systemFingerprint })
      const style: ReplyStyle = {
        echoes,
        choicesPerPrompt: choices,
        logprobs: logprobs !== undefined,
        ...(promptLogprobs !== undefined && { promptLogprobs }),
        usageTimes,
      }
      return {
        requests,
        stream,
        ignored,
        nameOf,
        encodeResult: (result) => encodeResult(result, headOf(result.start), style),
        createStreamEncoder: () => withRunningTimings(createChunkEncoder(headOf, { ...style, includeUsage }), timingsPerToken),
      }
    },
    createId: () => `cmpl-${randomHex()}`,
    encodeError: encodeOpenaiError,
    heartbeat: ': \n\n',
    prefixes: ['/v1/completions'],
  }
}
