import type { ServerTool, ToolOutcome, ToolRun } from '../../contract/server-tool.ts'

/** A tool that ignores its signal is abandoned after this time. */
const graceMs = 200
/** The limit of a result for the model; tools have smaller limits of their own. */
const maxChars = 20_000

type Execution = Pick<ToolRun, 'arguments' | 'session' | 'web'> & {
  /** The request's signal: its abort rejects with its reason. */
  readonly signal: AbortSignal
  readonly timeoutMs: number
}

/** How an execution ended, for metrics and the log. */
export type Executed = {
  readonly outcome: ToolOutcome
  readonly how: 'ok' | 'error' | 'timeout' | 'defect'
  /** The error of a defect. */
  readonly error?: unknown
}

/** Executes a call in bounded time, even if the tool ignores its signal. Failures are outcomes. */
export async function runTool(tool: ServerTool, { signal, timeoutMs, ...call }: Execution): Promise<Executed> {
  const limit = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const onBegin = () => {
    if (Number.isFinite(timeoutMs)) timer ??= setTimeout(() => limit.abort(), timeoutMs)
  }
  if (tool.takesTurns !== true) onBegin()
  try {
    const both = AbortSignal.any([signal, limit.signal])
    both.throwIfAborted()
    const outcome = await settled(async () => tool.run({ ...call, signal: both, onBegin }), both)
    signal.throwIfAborted()
    if (limit.signal.aborted) return { outcome: tooLate(timeoutMs, outcome?.text), how: 'timeout' }
    if (outcome === undefined) throw new Error('a tool that has ended has an outcome')
    return { outcome: capped(outcome), how: outcome.isError ? 'error' : 'ok' }
  } catch (error) {
    signal.throwIfAborted()
    if (limit.signal.aborted) return { outcome: tooLate(timeoutMs, undefined), how: 'timeout' }
    return {
      outcome: { text: 'The tool failed because of a defect; the log of the server has the details.', isError: true },
      how: 'defect',
      error,
    }
  } finally {
    clearTimeout(timer)
  }
}

/** The result of work that a signal ends; undefined if it does not end within the grace period. */
function settled(work: () => Promise<ToolOutcome>, signal: AbortSignal): Promise<ToolOutcome | undefined> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    const onAbort = () => {
      timer = setTimeout(() => resolve(undefined), graceMs)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    work()
      .then(resolve, reject)
      .finally(() => {
        signal.removeEventListener('abort', onAbort)
        clearTimeout(timer)
      })
  })
}

function tooLate(timeoutMs: number, text: string | undefined): ToolOutcome {
  const why = `The call took longer than ${timeoutMs / 1000} s and was ended.`
  return { text: text === undefined || text === '' ? why : `${text.slice(0, maxChars)}\n${why}`, isError: true }
}

function capped(outcome: ToolOutcome): ToolOutcome {
  const { text } = outcome
  if (text.length <= maxChars) return outcome
  return {
    ...outcome,
    text: `${text.slice(0, maxChars).replace(/[\ud800-\udbff]$/, '')}\n(${text.length - maxChars} more characters are left out.)`,
  }
}
