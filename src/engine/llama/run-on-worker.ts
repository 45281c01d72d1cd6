import type { OnTokensAfterCancel } from '../../base/emit.ts'
import { AppError } from '../../contract/errors.ts'
import type { EngineEvent } from '../../contract/event.ts'
import type { Usage } from '../../contract/usage.ts'
import { cancelOnWorker } from './cancel-on-worker.ts'
import type { RequestReport, RunCommand } from './channel/ipc.ts'
import { machineMs } from './channel/machine-clock.ts'
import type { Inbox, Inboxes } from './inboxes.ts'
import type { Supervisor } from './supervisor.ts'
import { unexpected } from './worker-exchanges.ts'

type RunOptions = {
  readonly supervisor: Pick<Supervisor, 'send' | 'steer' | 'abandon'>
  readonly inboxes: Inboxes
  readonly templateMs: number
  readonly signal: AbortSignal
  readonly late: OnTokensAfterCancel
}

/** Runs one prepared request on the worker. Ends when the worker has ended the work, also after an abort. */
export async function* runOnWorker(
  command: RunCommand,
  { supervisor, inboxes, templateMs, signal, late }: RunOptions,
): AsyncGenerator<EngineEvent, void, void> {
  const { id, tokens } = command
  const inbox = inboxes.open(id)
  let cancelledMs: number | undefined
  let onStopped: (() => void) | undefined
  const cancel = () => {
    cancelledMs ??= machineMs()
    onStopped ??= cancelOnWorker(supervisor, id)
  }
  /** Tokens generated before the cancel do not count, even if they are read after it. */
  const countLate = (report: RequestReport) => {
    if (report.type === 'text' && cancelledMs !== undefined && report.madeMs > cancelledMs) late(1)
  }
  signal.addEventListener('abort', cancel, { once: true })
  let working = false
  let cached: Pick<Usage, 'cachedInputTokens' | 'cachedIn'> = { cachedInputTokens: 0 }
  let prefillMs = 0
  try {
    supervisor.send(command)
    working = true
    if (signal.aborted) cancel()
    while (working) {
      const report = await inbox.next().catch((error: unknown) => {
        working = false
        throw error
      })
      // After an abort, only the end of the work matters.
      if (signal.aborted && report.type !== 'done') {
        countLate(report)
        continue
      }
      switch (report.type) {
        case 'prompt-progress': {
          const { cachedTokens, readTokens, elapsedMs } = report
          yield { type: 'prompt-progress', inputTokens: tokens.length, cachedInputTokens: cachedTokens, readTokens, elapsedMs }
          break
        }
        case 'prompt-read':
          cached = cachedOf(report)
          prefillMs = report.prefillMs
          yield { type: 'prompt-read', inputTokens: tokens.length, ...cached }
          break
        case 'prompt-tokens':
          yield { type: 'prompt-tokens', choice: 0, promptTokens: report.tokens }
          break
        case 'text': {
          const { choice, text, tokens: generated } = report
          yield { type: 'raw-text', choice, text, ...(generated !== undefined && { tokens: generated }) }
          break
        }
        case 'choice-done': {
          const { choice, reason, stopSequence } = report
          yield { type: 'finish', choice, reason, ...(stopSequence !== undefined && { stopSequence }) }
          break
        }
        case 'done': {
          working = false
          const { cancelled, outputTokens, reasoningTokens, drafts, decodeMs } = report
          if (cancelled || signal.aborted) throw AppError.from(signal.reason)
          const counts = { inputTokens: tokens.length, ...cached, outputTokens, reasoningTokens }
          const usage = { ...counts, ...(drafts !== undefined && { drafts }) }
          yield { type: 'usage', usage, timings: { templateMs, prefillMs, decodeMs } }
          break
        }
        default:
          throw unexpected(report)
      }
    }
  } finally {
    signal.removeEventListener('abort', cancel)
    if (working) {
      cancel()
      await workEnded(inbox, countLate)
    }
    onStopped?.()
    inboxes.close(id)
  }
}

function cachedOf({ cachedTokens, cachedIn }: Extract<RequestReport, { type: 'prompt-read' }>) {
  return { cachedInputTokens: cachedTokens, ...(cachedTokens > 0 && { cachedIn: { [cachedIn]: cachedTokens } }) }
}

/** The reader left early: the slot is free only when the worker has stopped the work, or has ended. */
async function workEnded(inbox: Inbox, onReport: (report: RequestReport) => void): Promise<void> {
  try {
    for (let report = await inbox.next(); report.type !== 'done'; report = await inbox.next()) onReport(report)
  } catch {
    // The request failed or its worker ended: in both cases the work has stopped.
  }
}
