import type { Logger } from 'pino'
import type { StoppedRun } from '../core/cancel/cancellations.ts'

/** Logs each cancelled request when it has ended: why, who asked for it, and how long and for how many tokens its work went on. */
export function createStopLog(log: Logger) {
  return ({ id, owner, model, reason, by, limit, afterMs, endedMs, lateTokens, cancelId, sessionId }: StoppedRun): void => {
    const entry = {
      generationId: id,
      key: owner,
      ...(model !== undefined && { model }),
      reason,
      ...(by !== undefined && { by }),
      ...(limit !== undefined && { limit }),
      ...(cancelId !== undefined && { cancelId }),
      ...(sessionId !== undefined && { sessionId }),
      afterMs: Math.round(afterMs),
      endedMs: Math.round(endedMs),
      lateTokens,
    }
    log.info(entry, 'request stopped')
  }
}
