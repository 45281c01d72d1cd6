import type { LoadSample } from '../../contract/server/activity.ts'
import type * as wire from './replies.ts'

/** The load of the server in an interval of 10 seconds. */
export function encodeSample(sample: LoadSample): wire.LoadSample {
  const { firstTokenMs, slowFirstTokenMs } = sample
  return {
    at_ms: sample.atMs,
    output_tokens_per_second: sample.outputTokensPerSecond,
    input_tokens_per_second: sample.inputTokensPerSecond,
    ended: sample.ended,
    failed: sample.failed,
    running: sample.running,
    waiting: sample.waiting,
    model_bytes: sample.modelBytes,
    process_bytes: sample.processBytes,
    ...(firstTokenMs !== undefined && { first_token_ms: Math.round(firstTokenMs) }),
    ...(slowFirstTokenMs !== undefined && { slow_first_token_ms: Math.round(slowFirstTokenMs) }),
  }
}
