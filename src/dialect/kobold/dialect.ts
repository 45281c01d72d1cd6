import { isObject } from '../../base/json.ts'
import { randomHex } from '../../base/random-hex.ts'
import type { Dialect } from '../../contract/dialect.ts'
import type { GenerationEvent } from '../../contract/event.ts'
import type { GenerationResult } from '../../contract/result.ts'
import { encodeFinishReason } from '../openai-completions/encode.ts'
import { toFrameJson } from '../wire/json/frame-json.ts'
import { allText, encodeStream, nothing, withoutCalls } from '../wire/stream/encode-stream.ts'
import { decodeKobold } from './decode.ts'
import { encodeKoboldError } from './errors.ts'
import type { KoboldError, KoboldGenerated, KoboldPiece } from './replies.ts'

type KoboldOptions = {
  readonly streams: boolean
  /** Returns what sees the events of a generation, which its caller asks for by its `genkey` while it runs, and after it. */
  watch?(owner: string, genkey: string): (event: GenerationEvent) => void
}

/** KoboldAI's `POST /api/v1/generate`, and KoboldCpp's `/api/extra/generate/stream`, which always streams. */
export function createKobold({ streams, watch }: KoboldOptions): Dialect {
  return {
    decode({ body }, { id, owner }) {
      const { requests, ignored, nameOf } = decodeKobold(body, id)
      const observe = owner === undefined ? undefined : watch?.(owner, readGenkey(body))
      return {
        requests,
        stream: streams,
        ignored,
        nameOf,
        ...(observe !== undefined && { observe }),
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

/** The name of a generation that a body contains, or asks for; empty: none. */
export function readGenkey(body: unknown): string {
  return isObject(body) && typeof body.genkey === 'string' ? body.genkey : ''
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
