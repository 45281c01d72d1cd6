import { pino } from 'pino'
import type { z } from 'zod'
import type { modelSchema } from '../../../src/config/schema.ts'
import type { Engine } from '../../../src/contract/engine.ts'
import { createRemoteEngine } from '../../../src/engine/remote/engine.ts'
import type { RemoteEngineOptions } from '../../../src/engine/remote/options.ts'
import { startApp } from '../http/app.ts'

/** An engine over another Dragoman with this model, which ends when the contract suite has closed the engine for the last time. */
export async function engineOverDragoman(
  model: z.input<typeof modelSchema>,
  options: Partial<RemoteEngineOptions> = {},
): Promise<Engine> {
  const upstream = await startApp({ models: [model], builtinModel: false })
  const log = pino({ level: 'silent' })
  const endpoints = [{ url: `${upstream.url}/v1`, weight: 1 }]
  const engine = createRemoteEngine({ id: model.id, endpoints, connections: 8, log, ...options })
  const close = engine.close.bind(engine)
  let closings = 0
  return Object.assign(engine, {
    close: async () => {
      await close()
      closings += 1
      // The suite closes the engine once to open it again, and once at its end.
      if (closings === 2) await upstream.close()
    },
  })
}
