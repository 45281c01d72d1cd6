import type { StreamEncoder } from '../../../contract/dialect.ts'
import { toFrameJson } from '../../wire/json/frame-json.ts'
import { encodeTimings } from './encode-timings.ts'

/** The end of each frame with an object; its text contains no line breaks. */
const frameEnd = '}\n\n'

/** Adds llama-server's `timings` so far to each frame, if requested; a piece counts as a token. */
export function withRunningTimings(encoder: StreamEncoder, isWanted: boolean, now = () => performance.now()): StreamEncoder {
  if (!isWanted) return encoder
  let usage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 }
  let startMs = 0
  let firstMs: number | undefined
  const timings = () => {
    const nowMs = now()
    return { prefillMs: (firstMs ?? nowMs) - startMs, decodeMs: firstMs === undefined ? 0 : nowMs - firstMs }
  }
  return {
    encode(event) {
      const frames = encoder.encode(event)
      if (event.type === 'start') {
        startMs = now()
        usage = { ...usage, inputTokens: event.inputTokens ?? 0 }
      } else if (event.type === 'prompt-read') {
        const { inputTokens, cachedInputTokens } = event
        usage = { ...usage, inputTokens, cachedInputTokens }
      } else if ('delta' in event) {
        firstMs ??= now()
        usage = { ...usage, outputTokens: usage.outputTokens + Math.max(1, event.tokens?.length ?? 1) }
      }
      // The last event has the engine's own timings.
      if (frames === '' || event.type === 'usage' || event.type === 'error') return frames
      const json = toFrameJson(encodeTimings({ usage, timings: timings() }))
      return frames.replaceAll(frameEnd, `,"timings":${json}${frameEnd}`)
    },
  }
}
