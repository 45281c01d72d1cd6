import type { FastifyInstance } from 'fastify'
import { AppError } from '../../../contract/errors.ts'
import { decodeDebug } from '../../../dialect/mlc/debug-requests.ts'
import { encodeEngineMetrics } from '../../../dialect/mlc/engine-metrics.ts'
import { encodeEventTrace } from '../../../dialect/mlc/event-trace.ts'
import { encodeOpenaiError } from '../../../dialect/openai/errors.ts'
import { endedSinceReset, requestsOf, resetsOf } from '../../run/debug-config.ts'
import { defaultModelName } from '../../run/default-model.ts'
import type { Models, Operating, Watching } from '../../run/deps.ts'
import type { CallerContext } from '../../run/open-run.ts'
import { createCallHandler } from '../../run/serve-call.ts'

/** MLC-LLM's routes for inspecting an engine; only with `server.debug`. */
export function addMlcRoutes(app: FastifyInstance, deps: Models & Watching & Operating): void {
  if (deps.debugs !== true) return
  const config = { scope: 'admin', encodeError: encodeOpenaiError } as const
  const answer = (run: (model: string, caller: CallerContext) => unknown) =>
    createCallHandler(deps, (body, { principal }) => {
      const { model: name = defaultModelName(deps, principal), ignored } = decodeDebug(body)
      return { ignored, run: async (caller) => run((await deps.models.find(name, principal)).id, caller) }
    })
  app.post(
    '/debug/dump_event_trace',
    { config },
    answer(async (model) => encodeEventTrace(await requestsOf(deps, model))),
  )
  app.post(
    '/debug/dump_engine_metrics',
    { config },
    answer(async (model) => ({ metrics: encodeEngineMetrics(await endedSinceReset(deps, model)) })),
  )
  app.post(
    '/debug/reset_engine',
    { config },
    answer(async (model, { principal }) => {
      deps.cancellations.cancelWhere({ model }, 'unloaded', principal.id)
      await deps.models.get(model, principal).engine.unload({ drainMs: endingMs })
      resetsOf(deps).set(model, Date.now())
      return {}
    }),
  )
  for (const path of ['/debug/cuda_profiler_start', '/debug/cuda_profiler_stop']) {
    app.post(path, { config: { ...config, isRefusal: true } }, () => {
      throw new AppError('route-not-found', 'there is no CUDA profiler here: run the server with `nsys profile`')
    })
  }
}

/** How long cancelled requests may take to end. */
const endingMs = 5000
