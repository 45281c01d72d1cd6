import type { GeneratedToken } from '../../contract/event.ts'
import type { RequestSnapshot } from '../../contract/server/activity.ts'
import { toWireLogprob } from '../openai/logprobs/wire-logprob.ts'
import { LogprobsEncoder } from '../openai-completions/encode-logprobs.ts'
import type { KoboldLogprobs, KoboldPerf } from './replies.ts'

/** The log-probabilities of a generation, in the forms of chat and of completions. */
export function encodeLastLogprobs(tokens: readonly GeneratedToken[]): KoboldLogprobs {
  if (tokens.length === 0) return { logprobs: null }
  const content = tokens.map(({ top, ...token }) => ({ ...encodeToken(token), top_logprobs: top.map(encodeToken) }))
  return { logprobs: { ...new LogprobsEncoder(0).encode(tokens), content } }
}

function encodeToken({ text, bytes, logprob }: Pick<GeneratedToken, 'text' | 'bytes' | 'logprob'>) {
  return { token: text, logprob: toWireLogprob(logprob), bytes }
}

type ServerNumbers = {
  /** The caller's last ended generation. */
  readonly last: Pick<RequestSnapshot, 'usage' | 'timings' | 'finishReasons' | 'endedAtMs'> | undefined
  /** How many have ended. */
  readonly ended: number
  readonly waiting: number
  readonly isIdle: boolean
  readonly uptimeSeconds: number
  /** Milliseconds of the epoch. */
  readonly nowMs: number
}

/** What this server does not do is 0. */
export function encodePerf({ last = {}, ended, waiting, isIdle, uptimeSeconds, nowMs }: ServerNumbers): KoboldPerf {
  const { usage, timings, finishReasons = [], endedAtMs } = last
  const { proposed = 0, accepted = 0 } = usage?.drafts ?? {}
  return {
    last_process: (timings?.prefillMs ?? 0) / 1000,
    last_eval: (timings?.decodeMs ?? 0) / 1000,
    last_token_count: usage?.outputTokens ?? 0,
    last_seed: -1,
    last_draft_success: accepted,
    last_draft_failed: proposed - accepted,
    total_gens: ended,
    stop_reason: stopReasonOf(finishReasons[0]),
    total_img_gens: 0,
    total_tts_gens: 0,
    total_transcribe_gens: 0,
    queue: waiting,
    idle: isIdle ? 1 : 0,
    hordeexitcounter: 0,
    uptime: Math.floor(uptimeSeconds),
    idletime: isIdle && endedAtMs !== undefined ? Math.max(0, Math.floor((nowMs - endedAtMs) / 1000)) : 0,
    quiet: true,
  }
}

function stopReasonOf(reason: NonNullable<RequestSnapshot['finishReasons']>[number] | undefined): number {
  if (reason === undefined) return -1
  return reason === 'length' || reason === 'context-full' ? 0 : 1
}
