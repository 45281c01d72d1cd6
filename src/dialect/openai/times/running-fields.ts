import type { EventOf } from '../../../contract/event.ts'
import { type Field, used } from '../../wire/field-table.ts'
import { flag } from '../../wire/wire-types.ts'

/** llama-server's fields for reports in running streams. */
export const runningFields: readonly Field[] = [
  used('timings_per_token', "true: each chunk of a stream has llama-server's `timings` so far"),
  used(
    'return_progress',
    'true: chunks of a stream have `prompt_progress` while the prompt is read, on the engines `llama`, `llama-server` and `fake`, and on other servers of these kinds',
  ),
]

export const runningShape = { timings_per_token: flag, return_progress: flag }

type Flag = boolean | null | undefined
type ProgressWire = { readonly stream?: Flag; readonly return_progress?: Flag }

/** The part of a request that asks for its progress. */
export function decodeProgress({ stream, return_progress }: ProgressWire): { readonly tellsProgress?: true } {
  return stream === true && return_progress === true ? { tellsProgress: true } : {}
}

/** A frame, or the end of one, with llama-server's `prompt_progress`. */
export function withProgress(
  frame: string,
  { inputTokens, cachedInputTokens, readTokens, elapsedMs }: EventOf<'prompt-progress'>,
): string {
  const progress = { total: inputTokens, cache: cachedInputTokens, processed: readTokens, time_ms: elapsedMs }
  return frame.replace(/\}\n\n$/, `,"prompt_progress":${JSON.stringify(progress)}}\n\n`)
}
