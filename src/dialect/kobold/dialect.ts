import { randomHex } from '../../base/random-hex.ts'
import type { Dialect } from '../../contract/dialect.ts'
import type { GenerationResult } from '../../contract/result.ts'
import { encodeFinishReason } from '../openai-completions/encode.ts'
import { toFrameJson } from '../wire/json/frame-json.ts'
import { allText, encodeStream, nothing, withoutCalls } from '../wire/stream/encode-stream.ts'
import { decodeKobold } from './decode.ts'
import { encodeKoboldError } from './errors.ts'
import type { KoboldError, KoboldGenerated, KoboldPiece } from './replies.ts'

/** KoboldAI's `POST /api/v1/generate`, and KoboldCpp's `/api/extra/generate/stream`, which always streams. */
export function createKobold({ streams }: { readonly streams: boolean }): Dialect {
  return {
    decode({ body }, { id }) {
      const { requests, ignored, nameOf } = decodeKobold(body, id)
      return {
        requests,
        stream: streams,
        ignored,
        policy: { onHangUp: 'cancel' },
        nameOf,
        encodeResult,
        createStreamEncoder: () => encoder,
      }
    },
    createId: () => `kobold-${randomHex()}`,
    encodeError: encodeKoboldError,
    heartbeat: ': \n\n',
    prefixes: [],
  }
}

function encodeResult({ choices, usage }: GenerationResult): KoboldGenerated {
  return {
    results: choices.map(({ parts, finish }) => ({
      // Reasoning is part of the text here.
      text: parts.map((part) => ('text' in part ? part.text : '')).join(''),
      finish_reason: encodeFinishReason(finish.reason),
      prompt_tokens: usage.inputTokens,
      completion_tokens: usage.outputTokens,
    })),
  }
}

const encoder = encodeStream({
  ...allText(({ delta }) => frame({ token: delta, finish_reason: null })),
  ...withoutCalls,
  start: nothing,
  finish: ({ reason }) => frame({ token: '', finish_reason: encodeFinishReason(reason) }),
  usage: nothing,
  error: ({ error }) => frame(encodeKoboldError(error).body),
})

function frame(value: KoboldPiece | KoboldError): string {
  return `event: message\ndata: ${toFrameJson(value)}\n\n`
}
