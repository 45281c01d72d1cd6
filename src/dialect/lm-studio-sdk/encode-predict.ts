import { parseJson } from '../../base/json.ts'
import type { EventOf, GenerationEvent } from '../../contract/event.ts'
import type { JsonObject } from '../../contract/request.ts'
import { stopReasonOf } from '../lm-studio/encode-chat.ts'
import { encodeTimings } from '../openai/times/encode-timings.ts'
import { handleEvents } from '../wire/stream/encode-stream.ts'
import type { Instance } from './model-info.ts'

type Messages = readonly JsonObject[]

/** An encoder of the events of a prediction as messages of its channel. `instance`: the model at the end. */
export function createPredictEncoder(instance: () => Instance): (event: GenerationEvent) => Messages {
  const calls = new Map<string, { readonly name: string; text: string }>()
  let finish: EventOf<'finish'> | undefined
  return handleEvents<Messages>(
    {
      start: none,
      'prompt-progress': ({ inputTokens, cachedInputTokens, readTokens }) => [
        {
          type: 'promptProcessingProgress',
          progress: inputTokens === 0 ? 1 : readTokens / inputTokens,
          details: {
            cachedTokenCount: cachedInputTokens,
            totalPromptTokenCount: inputTokens,
            processedPromptTokenCount: Math.max(0, readTokens - cachedInputTokens),
            unprocessedPromptTokenCount: Math.max(0, inputTokens - readTokens),
          },
        },
      ],
      'text-delta': ({ delta }) => fragment(delta, 'none'),
      'refusal-delta': ({ delta }) => fragment(delta, 'none'),
      'reasoning-delta': ({ delta }) => fragment(delta, 'reasoning'),
      'tool-call-start': ({ id, name }) => {
        calls.set(id, { name, text: '' })
        return [
          { type: 'toolCallGenerationStart', toolCallId: id },
          { type: 'toolCallGenerationNameReceived', name },
        ]
      },
      'tool-call-delta': ({ id, delta }) => {
        const call = calls.get(id)
        if (call !== undefined) call.text += delta
        return [{ type: 'toolCallGenerationArgumentFragmentGenerated', content: delta }]
      },
      'tool-call-end': ({ id, raw }) => {
        const { name = '', text = '' } = calls.get(id) ?? {}
        const args = text.trim() === '' ? {} : parseJson(text)
        if (typeof args !== 'object' || args === null || Array.isArray(args)) {
          const title = `the model called '${name}' with arguments that are no JSON object: ${text.slice(0, 200)}`
          return [{ type: 'toolCallGenerationFailed', error: { title, rootTitle: title }, rawContent: raw ?? text }]
        }
        const toolCallRequest = { type: 'function', id, name, arguments: args }
        return [{ type: 'toolCallGenerationEnd', toolCallRequest, ...(raw !== undefined && { rawContent: raw }) }]
      },
      finish: (event) => {
        finish = event
        return []
      },
      usage: ({ usage, timings }) => [
        {
          type: 'success',
          stats: {
            stopReason: finish === undefined ? 'failed' : stopReasonOf(finish),
            tokensPerSecond: encodeTimings({ usage, timings }).predicted_per_second,
            timeToFirstTokenSec: (timings.firstTokenMs ?? 0) / 1000,
            totalTimeSec: (timings.totalMs ?? 0) / 1000,
            promptTokensCount: usage.inputTokens,
            predictedTokensCount: usage.outputTokens,
            totalTokensCount: usage.inputTokens + usage.outputTokens,
          },
          modelInfo: instance(),
          loadModelConfig: { fields: [] },
          predictionConfig: { fields: [] },
        },
      ],
      // The caller of the run gets it.
      error: none,
    },
    none,
  )
}

const none = (): Messages => []

function fragment(content: string, reasoningType: 'none' | 'reasoning'): Messages {
  // Such events only carry tokens.
  if (content === '') return []
  // A piece of text is a token or more, which engines do not tell.
  return [{ type: 'fragment', fragment: { content, tokensCount: 1, containsDrafted: false, reasoningType, isStructural: false } }]
}
