import type { Logger } from 'pino'
import { ActivityLog, stopOf } from '../../activity/activity-log.ts'
import { LoadHistory, sampleEveryMs } from '../../activity/load-history.ts'
import { ServerActivity } from '../../activity/server-activity.ts'
import type { LoadedConfig } from '../../config/load.ts'
import type { Residency } from '../../contract/residency.ts'
import type { Primary } from '../../contract/server/shared.ts'
import type { GenerationRecord } from '../../contract/usage.ts'
import { Cancellations } from '../../core/cancel/cancellations.ts'
import { cancelTopic } from '../../core/cancel/cancels-elsewhere.ts'
import type { Fallback } from '../../core/other-models/other-models.ts'
import type { ToolCallRecord } from '../../core/tool-loop/deps.ts'
import type { Operating, Watching } from '../../http/run/deps.ts'
import { openCaptureFolder } from '../log/capture-folder.ts'
import { createStopLog } from '../log/log.ts'
import { linesOf } from '../log/log-lines.ts'
import { createToolLog } from '../log/tool-log.ts'
import { openConfiguredTracing } from '../log/tracing.ts'
import { createMetrics } from '../metrics/metrics.ts'
import { loadOf } from '../metrics/model-metrics.ts'
import { LoadTimes } from '../models/load-times.ts'
import type { MemorySharing } from '../models/memory/memory-sharing.ts'
import type { ModelSet } from '../models/model-set.ts'
import { isListed } from '../models/place-listed.ts'
import type { State } from '../state/open-state.ts'

type Watched = {
  readonly log: Logger
  readonly version: string
  readonly models: ModelSet
  readonly sharing: MemorySharing
  readonly state: Pick<State, 'siblings' | 'everyone' | 'usage'>
  readonly primary: Primary | undefined
}

/** Counts, logs, traces and cancels what the server does. */
export async function openWatching(config: LoadedConfig, { log, version, models, sharing, state, primary }: Watched) {
  const { siblings, everyone, usage } = state
  const traces = openConfiguredTracing({ log, version, env: process.env })
  const loadTimes = new LoadTimes({ now: () => performance.now() })
  models.onChange(() => {
    for (const { engine } of models.all()) loadTimes.watch(engine)
  })
  const metrics = createMetrics({
    readLoad: () =>
      models
        .all()
        // A server may list hundreds that nobody uses.
        .filter((model) => !isListed(model) || model.engine.state.type !== 'stopped')
        .map((model) => ({ ...loadOf(model), loadSeconds: loadTimes.secondsOf(model.engine) })),
    readSpans: traces?.counts,
    version,
  })
  const activity = new ActivityLog({
    epoch: Date.now,
    run: `${process.pid.toString(36)}x${Date.now().toString(36)}`,
    onRead: (read) => usage?.note(read),
  })
  const load = sampleLoad(activity, () => sharing.residency.memory())
  const logStop = createStopLog(log)
  const cancellations = new Cancellations({
    onCancel: metrics.requestCancelled,
    onStopped: (run) => {
      logStop(run)
      activity.stopped(run.id, stopOf(run))
    },
    onClosed: (id) => activity.closed(id),
  })
  await everyone?.subscribe(cancelTopic, (cancel) => cancellations.cancelRequested(cancel))
  const { captureFolder } = config.log
  const captures = captureFolder === undefined ? undefined : openCaptureFolder(captureFolder, log)
  const lines = linesOf(log)
  const logTool = createToolLog(log)
  return {
    metrics,
    ofGenerations: {
      record: (record: GenerationRecord) => {
        metrics.generationEnded(record)
        usage?.note(record)
      },
      onToolCall: (call: ToolCallRecord) => {
        metrics.toolCalled(call)
        logTool(call)
      },
      onFallback: (fallback: Fallback) => {
        metrics.fellBack(fallback)
        const { id, model, servedBy, error } = fallback
        const why = { reason: error.message, code: error.code, ...(error.code === 'internal' && { err: error.cause }) }
        log.warn({ id, model, servedBy, ...why }, 'another model serves a request')
      },
    },
    forRoutes: {
      now: () => performance.now(),
      cancellations,
      activity: new ServerActivity(activity, siblings),
      ...(traces !== undefined && { tracing: traces.tracing }),
      log,
      metrics: primary === undefined ? metrics : { ...metrics, render: primary.sumMetrics(metrics.read) },
      history: load.history,
      ...(lines !== undefined && { lines }),
      ...(captures !== undefined && { capture: captures.keep, captures }),
    } satisfies Watching & Operating,
    async close() {
      load.close()
      await Promise.all([traces?.close(), captures?.close()])
    },
  }
}

/** Records the server's load every ten seconds. Close it. */
function sampleLoad(activity: ActivityLog, memory: Residency['memory']): { readonly history: LoadHistory; close(): void } {
  const read = () => ({
    ...activity.reading(),
    modelBytes: memory().usedBytes,
    processBytes: process.memoryUsage.rss(),
  })
  const history = new LoadHistory(read())
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    history.note(read(), { atMs: Date.now(), intervalMs: now - last })
    last = now
  }, sampleEveryMs)
  timer.unref()
  return { history, close: () => clearInterval(timer) }
}
